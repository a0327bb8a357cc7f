/** Changing lists. */
import { createListInput, updateListInput } from '../../domain/audience/list-fields.ts';
import { createList } from '../../domain/audience/create-list.ts';
import { deleteList } from '../../domain/audience/delete-list.ts';
import { updateList } from '../../domain/audience/update-list.ts';
import { chooseLogo, pictureInput } from '../../domain/files/choose-picture.ts';
import { builder } from '../builder.ts';
import { SignUpCaptcha } from './sign-up-captcha.ts';
import { ListContactInput } from './list-contact.ts';
import { FrequencyCapInput } from './frequency-cap.ts';
import { QuietHoursInput } from './quiet-hours.ts';
import { MailList } from './mail-list.ts';

const TIMEZONE = 'The time zone of people whose own is not known. Null: that of the customer.';
const TIMEZONE_TAG = "Tag of the field that holds a person's own time zone. Null: none does.";
const LANGUAGE = 'The language of its public pages. Null: that of the customer.';
const LOGO = 'Of its public pages. Null: none.';
const COLOR = 'Of headings and buttons of its public pages. Null: the usual ones.';
const SHOW_IN_PREFERENCES =
  'Offer the list to people on any list of the customer, on their profile page and after unsubscribing; joining needs a confirmation mail.';
const QUIET_HOURS = 'Nobody gets mail in these hours. Null: there are no quiet hours.';
const FREQUENCY_CAP = 'The most messages to a person of the list. Null: there is no limit but that of the customer.';

const BRIEF =
  'The contact and the default subject may be empty. A campaign to the list needs company, address and country of its contact.';

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

/** How people join and leave: fields of both inputs. */
const joiningFields = (t: InputFields) => ({
  subscribeConfirmation: t.boolean({ description: 'Double opt-in.' }),
  sendWelcomeEmail: t.boolean(),
  unsubscribeNotification: t.boolean({ description: 'Tell the contact who left, once an hour at most.' }),
  sendGoodbyeEmail: t.boolean(),
  publicSignup: t.boolean({ description: 'Let anybody sign up without a token; always double opt-in.' }),
  signupCaptcha: t.field({ type: SignUpCaptcha }),
  showInPreferences: t.boolean({ description: SHOW_IN_PREFERENCES }),
});

/** How its public pages look: fields of both inputs. */
const pageFields = (t: InputFields) => ({
  language: t.string({ description: LANGUAGE }),
  logo: t.string({ description: LOGO, check: pictureInput }),
  color: t.string({ description: COLOR }),
});

const CreateListInput = builder.inputType('CreateListInput', {
  checks: createListInput.shape,
  fields: (t) => ({
    name: t.string({ required: true }),
    fromEmail: t.string({ required: true }),
    fromName: t.string({ required: true }),
    defaultSubject: t.string({ description: 'Required without `briefContact`.' }),
    contact: t.field({ type: ListContactInput, required: true }),
    ...pageFields(t),
    timezone: t.string({ description: TIMEZONE }),
    timezoneTag: t.string({ description: TIMEZONE_TAG }),
    quietHours: t.field({ type: QuietHoursInput, description: QUIET_HOURS }),
    frequencyCap: t.field({ type: FrequencyCapInput, description: FREQUENCY_CAP }),
    remindMessage: t.string(),
    ...joiningFields(t),
    briefContact: t.boolean({ description: BRIEF }),
  }),
});

const UpdateListInput = builder.inputType('UpdateListInput', {
  checks: updateListInput.shape,
  description: 'Fields that are absent keep their values.',
  fields: (t) => ({
    name: t.string(),
    fromEmail: t.string(),
    fromName: t.string(),
    defaultSubject: t.string(),
    contact: t.field({ type: ListContactInput }),
    remindMessage: t.string({ description: 'null clears.' }),
    ...joiningFields(t),
    ...pageFields(t),
    timezone: t.string({ description: TIMEZONE }),
    timezoneTag: t.string({ description: TIMEZONE_TAG }),
    quietHours: t.field({ type: QuietHoursInput, description: QUIET_HOURS }),
    frequencyCap: t.field({ type: FrequencyCapInput, description: FREQUENCY_CAP }),
    briefContact: t.boolean({ description: BRIEF }),
  }),
});

builder.mutationField('createList', (t) =>
  t.prismaField({
    type: MailList,
    description: 'Makes a list with its contact and the fields FIRST_NAME and LAST_NAME.',
    authScopes: { scope: 'lists:write' },
    args: { input: t.arg({ type: CreateListInput, required: true }) },
    resolve: async (query, _root, { input }, ctx) => {
      const { customerId, id } = await createList(ctx, { ...input, logo: () => chooseLogo(ctx, input.logo) });
      return ctx.prisma.mailList.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

builder.mutationField('updateList', (t) =>
  t.prismaField({
    type: MailList,
    description: 'Changes metadata, sender identity, opt-in settings and contact.',
    authScopes: { scope: 'lists:write' },
    args: { uid: t.arg.string({ required: true }), input: t.arg({ type: UpdateListInput, required: true }) },
    resolve: async (query, _root, { uid, input }, ctx) => {
      const { customerId, id } = await updateList(ctx, uid, { ...input, logo: () => chooseLogo(ctx, input.logo) });
      return ctx.prisma.mailList.findUniqueOrThrow({ ...query, where: { customerId_id: { customerId, id } } });
    },
  }),
);

const DeletedList = builder.objectRef<{ uid: string }>('DeletedList').implement({
  authScopes: { scope: 'lists:write' },
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deleteList', (t) =>
  t.field({
    type: DeletedList,
    description:
      'Erases a list with its subscribers and with campaigns that have not begun. Reports of finished campaigns stay, with its name. Refused while a campaign to it is scheduled or under way.',
    authScopes: { scope: 'lists:write' },
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deleteList(ctx, uid),
  }),
);
