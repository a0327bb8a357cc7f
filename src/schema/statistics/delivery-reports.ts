/** Reports of external delivery systems (specification 4.12). */
import { deliveryReportInput } from '../../domain/tracking/delivery-report.ts';
import type { BounceType as Bounce, RecordedReport, ReportType } from '../../domain/tracking/delivery-report.ts';
import { recordDeliveryReport } from '../../domain/tracking/record-delivery-report.ts';
import { builder } from '../builder.ts';

const writing = { scope: 'campaigns:write' } as const;

const DeliveryReportType = builder.enumType('DeliveryReportType', {
  description: 'abuse and reported are complaints; failed is a message that could not be delivered for another reason.',
  values: {
    bounced: { description: 'It came back.' },
    failed: { description: 'It could not be delivered for another reason.' },
    abuse: { description: 'The reader called it unwanted.' },
    reported: { description: 'The same, by a button of a mail program.' },
    sent: { description: 'It arrived.' },
  } satisfies Record<ReportType, object>,
});

const BounceType = builder.enumType('BounceType', {
  description: 'hard: there is no such mailbox. soft: it did not accept the message this time.',
  values: {
    hard: { description: 'There is no such mailbox.' },
    soft: { description: 'It did not accept the message this time.' },
  } satisfies Record<Bounce, object>,
});

const RecordedDeliveryReport = builder.objectRef<RecordedReport>('RecordedDeliveryReport').implement({
  authScopes: writing,
  fields: (t) => ({
    type: t.expose('type', { type: DeliveryReportType }),
    changed: t.exposeBoolean('changed', { description: 'False: the report was known already.' }),
  }),
});

builder.mutationField('reportDelivery', (t) =>
  t.fieldWithInput({
    type: RecordedDeliveryReport,
    description:
      'Records what became of a message after it was handed over. A hard bounce suppresses the address, a complaint also unsubscribes.',
    authScopes: writing,
    typeOptions: { checks: deliveryReportInput.shape },
    input: {
      messageId: t.input.string({ required: true, description: 'Its Message-ID, or the id that the driver gave it.' }),
      type: t.input.field({ type: DeliveryReportType, required: true }),
      bounceType: t.input.field({ type: BounceType, description: '`soft` by default.' }),
      reportType: t.input.string({ description: 'What kind of complaint, in the reporter’s words.' }),
      description: t.input.string({ description: 'The diagnostic text; of a long one the beginning is kept.' }),
    },
    resolve: (_root, { input }, ctx) => recordDeliveryReport(ctx, input),
  }),
);
