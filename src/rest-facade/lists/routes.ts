/** Lists and their fields (specification 4.2; decisions D14 to D16). */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import type { DataOf } from '../operations.ts';
import { presentList, presentListRow, presentNewField } from './present.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { countriesShape, fieldCreatedShape, listActionShape, listRowShape, oneListShape } from './shapes.ts';

const addField = {
  path: '/lists/:uid/add-field',
  access: 'token',
  summary: 'Adds a custom field to a list.',
  required: ['type', 'label', 'tag'],
  operation: 'AddListField',
  variables: (input: Input) => ({
    input: {
      listUid: input.param('uid'),
      type: input.text('type') ?? '',
      label: input.text('label') ?? '',
      tag: input.text('tag') ?? '',
      defaultValue: input.nullableText('default_value'),
      required: input.flag('required'),
    },
  }),
} as const;

const fieldCreated = (data: DataOf<'AddListField'>) =>
  ["List's field was created", { field: presentNewField(data.addListField) }] as const;

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
    details: 'In the classic dialect only `company`, `country_id` and `email` of the contact are required.',
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
        defaultSubject: input.text('default_subject', 'subject') ?? '',
        contact: contact(input) ?? {},
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
    operation: 'UpdateList',
    variables: (input) => ({
      uid: input.param('uid'),
      input: {
        ...options(input),
        name: input.text('name'),
        fromEmail: input.text('from_email'),
        fromName: input.text('from_name'),
        defaultSubject: input.text('default_subject', 'subject'),
        contact: contact(input),
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
  endpoint({
    ...addField,
    method: 'POST',
    answers: answersCreated(fieldCreatedShape),
    present: (data) => created(...fieldCreated(data)),
  }),
  // The specification shows the method both ways.
  endpoint({
    ...addField,
    method: 'GET',
    writes: true,
    answers: answersBody(fieldCreatedShape),
    present: (data) => done(...fieldCreated(data)),
  }),
  endpoint({
    method: 'GET',
    path: '/countries',
    access: 'token',
    summary: 'Lists the countries with their numbers for `country_id`.',
    answers: answersBody(countriesShape),
    operation: 'Countries',
    variables: () => ({}),
    present: ({ countries }) => ok(countries.nodes),
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
  };
}

function contact(input: Input) {
  const given = input.object('contact');
  return (
    given && {
      company: given.text('company'),
      address1: given.text('address_1'),
      address2: given.text('address_2'),
      city: given.text('city'),
      state: given.text('state'),
      zip: given.text('zip'),
      phone: given.text('phone'),
      countryId: given.integer('country_id'),
      email: given.text('email'),
      url: given.text('url'),
    }
  );
}
