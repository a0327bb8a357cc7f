/**
 * A campaign's fields in GraphQL: those of the type `Campaign` but its html and plain text (campaign-content.ts), and those of the
 * inputs. Checks and columns are in the domain's file.
 */
import { pluginTemplateInput } from '../../domain/campaigns/plugin-templates.ts';
import { builder } from '../builder.ts';
import { CampaignType } from '../enums.ts';
import { QuietHoursInput, QuietHoursType, shownQuietHours } from '../lists/quiet-hours.ts';
import { SendingRouteInput, SendingRouteType, shownRoutes } from '../sending-servers/sending-route.ts';
import { Campaign } from './campaign.ts';

const UnknownPolicy = builder.enumType('UnknownPolicy', {
  description:
    'What happens to a message with an unknown outcome: `park` lists it; `retry` sends it again, so that a person may get it twice.',
  values: {
    park: { description: 'Lists it, for you to decide.' },
    retry: { description: 'Sends it again.' },
  },
});

const PREHEADER =
  'The text that a mail program shows after the subject in its list of mails. It is hidden in the message itself. Empty: none.';

builder.prismaObjectFields(Campaign, (t) => ({
  subject: t.exposeString('subject'),
  preheader: t.exposeString('preheader', { description: PREHEADER }),
  fromEmail: t.exposeString('fromEmail'),
  fromName: t.exposeString('fromName'),
  replyTo: t.exposeString('replyTo'),
  trackOpen: t.exposeBoolean('trackOpen'),
  trackClick: t.exposeBoolean('trackClick'),
  signDkim: t.exposeBoolean('signDkim'),
  skipFailedMessages: t.exposeBoolean('skipFailedMessages'),
  embedImages: t.exposeBoolean('embedImages'),
  unknownPolicy: t.field({
    type: UnknownPolicy,
    select: { unknownPolicy: true },
    resolve: ({ unknownPolicy }) => (unknownPolicy === 'retry' ? 'retry' : 'park'),
  }),
  sendingServers: t.field({
    type: [SendingRouteType],
    description: 'The servers to send through, by weight; empty: those of its customer or plan.',
    select: { routes: true },
    resolve: ({ routes }) => shownRoutes(routes),
  }),
  quietHours: t.field({
    type: QuietHoursType,
    nullable: true,
    description: 'The campaign’s own quiet hours; null: those of its list.',
    select: { quietHours: true },
    resolve: ({ quietHours }) => shownQuietHours(quietHours),
  }),
  deliverInSubscriberTimezone: t.exposeBoolean('deliverInSubscriberTimezone'),
  localTime: t.exposeString('localTime', { nullable: true }),
}));

type InputFields = PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>;

/** Fields of both create and update. */
export const optionalFields = (input: InputFields) => ({
  type: input.field({ type: CampaignType, description: '`regular` by default.' }),
  segmentUid: input.string({ description: 'Only the people of this segment get it. Null: everybody on the list.' }),
  templateUid: input.string({
    description:
      'A template: subject, preheader, html and plain text that are not given, or empty, are copied from it. Needs the scope `templates:read`, too.',
  }),
  pluginTemplate: input.string({
    check: pluginTemplateInput.shape.pluginTemplate,
    description:
      'A mail template of a plugin, as `pluginMailTemplates` names it: subject, html and plain text that are not given, or empty, are copied from it.',
  }),
  preheader: input.string({ description: `${PREHEADER} Null: none.` }),
  replyTo: input.string(),
  plain: input.string({ description: 'Empty: made from the html.' }),
  trackOpen: input.boolean(),
  trackClick: input.boolean(),
  signDkim: input.boolean(),
  skipFailedMessages: input.boolean({
    description: 'False: the campaign is paused at the first person that no message can be composed for.',
  }),
  embedImages: input.boolean({
    description: 'Pictures uploaded as files are sent within the message instead of being fetched.',
  }),
  unknownPolicy: input.field({ type: UnknownPolicy }),
  deliveryAt: input.field({ type: 'DateTime', description: 'Null: no time.' }),
  sendingServers: input.field({
    type: [SendingRouteInput],
    description: 'The servers to send through, by weight. Null: those of its customer or plan.',
  }),
  quietHours: input.field({ type: QuietHoursInput, description: 'Null: those of its list.' }),
  deliverInSubscriberTimezone: input.boolean({
    description: 'Every person gets the message at the same local time, by their own time zone.',
  }),
  localTime: input.string({
    description: 'The local time. Null: the time of day at which the campaign starts.',
  }),
});
