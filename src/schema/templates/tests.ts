/** Tests of templates. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { sendTestTemplate, sendTestTemplateInput } from '../../domain/campaigns/send-test-template.ts';
import { TEST_ADDRESSES_MAX, TESTS_PER_HOUR_MAX } from '../../domain/campaigns/test-addresses.ts';
import type { TemplateTest as Test } from '../../domain/delivery/flow-mails/test-template.ts';
import { messageUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';

const writing = { scope: 'templates:write' } as const;

const TemplateTest = builder.objectRef<Test>('TemplateTest').implement({
  description: 'A test of a template to one address.',
  authScopes: writing,
  fields: (t) => ({
    email: t.exposeString('email'),
    messageUid: t.string({
      description: '`message` shows what becomes of it, and why.',
      resolve: ({ id }) => messageUid(id),
    }),
  }),
});

const TemplateTests = builder.objectRef<{ uid: string; tests: readonly Test[] }>('TemplateTests').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the template.' }),
    tests: t.field({ type: [TemplateTest], resolve: ({ tests }) => [...tests] }),
  }),
});

builder.mutationField('sendTestTemplate', (t) =>
  t.fieldWithInput({
    type: TemplateTests,
    description:
      `Sends the template to up to ${TEST_ADDRESSES_MAX} addresses, as an automation would send it to people of the list, with "[Test]" before the subject; ` +
      `its links belong to nobody. Once per request, ${TESTS_PER_HOUR_MAX} addresses an hour together with tests of campaigns. Suppressed addresses are refused.`,
    authScopes: writing,
    executionsMax: 1,
    typeOptions: { checks: { ...sendTestTemplateInput.shape, subscriber: subscriberRefInput } },
    input: {
      uid: t.input.string({ required: true, description: 'The uid of the template.' }),
      listUid: t.input.string({
        required: true,
        description: 'Whose sender, contact and fields it has (needs the scope `lists:read`, too).',
      }),
      emails: t.input.stringList({ required: true }),
      subscriber: t.input.string({
        description:
          'Whose values it is filled with: of somebody on the list (needs the scope `subscribers:read`, too). Absent: of each address itself, when it is on the list.',
      }),
      data: t.input.field({
        type: 'JsonObject',
        description:
          '`data.*` of its Liquid, as a program gives it with a transactional mail; at most 64 KB. What is missing is empty.',
      }),
      payload: t.input.field({
        type: 'JsonObject',
        description:
          '`payload.*` of its Liquid, as an event brings it to an automation; at most 64 KB. What is missing is empty.',
      }),
      markSubject: t.input.boolean({ description: 'False: the subject as it is.' }),
    },
    resolve: (_root, { input }, ctx) => sendTestTemplate(ctx, input),
  }),
);
