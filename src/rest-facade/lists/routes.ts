/** Lists (specification 4.2; decisions D14, D15). */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Dialect } from '../dialects.ts';
import type { Input } from '../input.ts';
import { frequencyCapIn } from '../frequency-cap.ts';
import { quietHoursIn } from '../quiet-hours.ts';
import { classicCountries } from './classic-countries.ts';
import { fieldRows } from './field-routes.ts';
import { frequencyCapRows } from './frequency-cap-routes.ts';
import { presentList, presentListRow } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { countriesShape, listActionShape, listRowShape, oneListShape } from './shapes.ts';

export const listRows = [
  endpoint({
    method: 'GET',
    path: '/lists',
    access: 'token',
    summary: 'Lists the mailing lists.',
    answers: answersPage(listRowShape),
    operation: 'Lists',
    variables: pageArguments,
    present: ({ listsPage }) => page(listsPage, presentListRow),
  }),
  endpoint({
    method: 'POST',
    path: '/lists',
    access: 'token',
    summary: 'Makes a list.',
    details:
      'In the classic dialect `default_subject` and the whole contact may be left out. A campaign to the list needs company, address and country.',
    answers: answersCreated(listActionShape),
    required: [
      'name',
      'from_email',
      'from_name',
      'default_subject',
      'contact[company]',
      'contact[address_1]',
      'contact[city]',
      'contact[state]',
      'contact[zip]',
      'contact[phone]',
      'contact[country_id]',
      'contact[email]',
    ],
    dialectFirst: true,
    operation: 'CreateList',
    variables: (input, { dialect }) => ({
      input: {
        ...options(input),
        name: input.text('name') ?? '',
        fromEmail: input.text('from_email') ?? '',
        fromName: input.text('from_name') ?? '',
        defaultSubject: defaultSubject(input, dialect) ?? '',
        contact: contact(input, dialect) ?? {},
        briefContact: dialect === 'classic',
      },
    }),
    present: ({ createList: { uid } }) => created('List was successfully created', { list_uid: uid }),
  }),
  endpoint({
    method: 'GET',
    path: '/lists/:uid',
    access: 'token',
    summary: 'Shows a list with its fields, its contact and its statistics.',
    answers: answersBody(oneListShape),
    operation: 'List',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ list }) => ok(presentList(list)),
  }),
  endpoint({
    method: 'PATCH',
    path: '/lists/:uid',
    access: 'token',
    summary: 'Changes a list: only what is given.',
    answers: answersBody(listActionShape),
    dialectFirst: true,
    operation: 'UpdateList',
    variables: (input, { dialect }) => ({
      uid: input.param('uid'),
      input: {
        ...options(input),
        name: input.text('name'),
        fromEmail: input.text('from_email'),
        fromName: input.text('from_name'),
        defaultSubject: defaultSubject(input, dialect),
        contact: contact(input, dialect),
        briefContact: dialect === 'classic' ? true : undefined,
      },
    }),
    present: ({ updateList: { uid } }) => done('List was successfully updated', { list_uid: uid }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/lists/:uid',
    access: 'token',
    summary: 'Deletes a list with everybody on it.',
    answers: answersBody(listActionShape),
    operation: 'DeleteList',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteList: { uid } }) => done('Deleted', { list_uid: uid }),
  }),
  ...fieldRows,
  ...frequencyCapRows,
  endpoint({
    method: 'GET',
    path: '/countries',
    access: 'token',
    summary: 'Lists the countries with their numbers for `country_id`, which also takes ISO 3166 codes.',
    details: 'The classic dialect has numbers of its own.',
    answers: answersBody(countriesShape),
    operation: 'Countries',
    variables: () => ({}),
    present: ({ countries }, { dialect }) => ok(classicCountries.present(countries.nodes, dialect)),
  }),
];

function options(input: Input) {
  return {
    remindMessage: input.nullableText('remind_message'),
    subscribeConfirmation: input.flag('subscribe_confirmation'),
    sendWelcomeEmail: input.flag('send_welcome_email'),
    unsubscribeNotification: input.flag('unsubscribe_notification'),
    sendGoodbyeEmail: input.flag('send_goodbye_email'),
    publicSignup: input.flag('public_signup'),
    signupCaptcha: input.choice('signup_captcha', ['never', 'flood', 'always']),
    showInPreferences: input.flag('show_in_preferences'),
    language: input.nullableText('language'),
    logo: input.nullableText('logo'),
    color: input.nullableText('color'),
    timezone: input.nullableText('timezone'),
    timezoneTag: input.nullableText('timezone_tag'),
    quietHours: quietHoursIn(input),
    frequencyCap: frequencyCapIn(input),
  };
}

/** Old clients put it into the contact (D49). */
function defaultSubject(input: Input, dialect: Dialect): string | undefined {
  const contactInput = dialect === 'classic' ? input.object('contact') : undefined;
  // Read in any case: what is no text is refused, also where the other one is used.
  const inContact = contactInput?.text('default_subject');
  return input.text('default_subject', 'subject') ?? inContact;
}

/** The `contact` of a list or a customer; the numbers of countries are the dialect's (D51). JSON null clears the country. */
export function contact(input: Input, dialect: Dialect) {
  const given = input.object('contact');
  const country = given && classicCountries.read(given, 'country_id', dialect);
  return (
    given && {
      company: given.text('company'),
      address1: given.text('address_1'),
      address2: given.text('address_2'),
      city: given.text('city'),
      state: given.text('state'),
      zip: given.text('zip'),
      phone: given.text('phone'),
      countryId: given.isNull('country_id') ? null : country?.number,
      countryCode: country?.code,
      email: given.text('email'),
      url: given.text('url'),
    }
  );
}
