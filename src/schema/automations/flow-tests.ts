/** Live tests of an automation to a named address (decision D91). */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { cancelFlowTest, flowTestsOf, ownedFlowTest } from '../../domain/automations/live-test/find-flow-test.ts';
import { flowTestInput, WAIT_SECONDS } from '../../domain/automations/live-test/flow-test.ts';
import { testAutomation } from '../../domain/automations/live-test/test-automation.ts';
import { builder } from '../builder.ts';
import { AutomationTest } from './flow-test.ts';

const reading = { scope: 'automations:read' } as const;
const writing = { scope: 'automations:write' } as const;

const UID = 'The uid of the automation.';

function testArgs() {
  return builder.args((t) => ({
    uid: t.string({ required: true, description: UID }),
    testUid: t.string({ required: true, description: 'The uid of the test.' }),
  }));
}

builder.queryField('automationTests', (t) =>
  t.field({
    type: [AutomationTest],
    description: 'The last tests of an automation, the newest first. They are deleted after seven days.',
    authScopes: reading,
    args: { uid: t.arg.string({ required: true, description: UID }) },
    resolve: async (_root, { uid }, ctx) => [...(await flowTestsOf(ctx, uid))],
  }),
);

builder.queryField('automationTest', (t) =>
  t.field({
    type: AutomationTest,
    description: 'One test of an automation.',
    authScopes: reading,
    args: testArgs(),
    resolve: (_root, { uid, testUid }, ctx) => ownedFlowTest(ctx, uid, testUid),
  }),
);

builder.mutationField('testAutomation', (t) =>
  t.fieldWithInput({
    type: AutomationTest,
    description:
      'Goes through the draft or a version of an automation at once: waits take some seconds, and its mails are really sent to the address, as tests of templates are. Nobody enters, nobody is changed, no webhook is told, and it counts nowhere. A draft with faults is refused with all of them.',
    authScopes: writing,
    input: {
      uid: t.input.string({ required: true, description: UID }),
      email: t.input.string({
        required: true,
        description: 'To whom all mails go.',
        check: flowTestInput.shape.email,
      }),
      subscriber: t.input.string({
        description:
          'The uid, id or address of a person on the list, whose values are used and for whom conditions are judged. It needs the scope `subscribers:read`. Absent: who of the list has the address, else sample values.',
        check: subscriberRefInput,
      }),
      version: t.input.int({
        description: 'A published version; absent: the draft.',
        check: flowTestInput.shape.version,
      }),
      waitSeconds: t.input.int({
        description: `How long each wait takes; ${WAIT_SECONDS.default} by default.`,
        check: flowTestInput.shape.waitSeconds,
      }),
      ports: t.input.field({
        type: 'JsonObject',
        description:
          'The ways to take, by the ids of nodes, such as `{"opened": "yes"}`. Elsewhere it is as for real, but nothing happens while a test waits.',
      }),
      payload: t.input.field({
        type: 'JsonObject',
        description: 'Read in conditions and mails as `payload.*`. At most 64 KiB.',
      }),
      markSubject: t.input.boolean({ description: 'Begins subjects with `[Test]`; by default true.' }),
    },
    resolve: (_root, { input: { uid, ...given } }, ctx) => testAutomation(ctx, uid, given),
  }),
);

builder.mutationField('cancelAutomationTest', (t) =>
  t.field({
    type: AutomationTest,
    description: 'Ends a test: it sends no further mail.',
    authScopes: writing,
    args: testArgs(),
    resolve: (_root, { uid, testUid }, ctx) => cancelFlowTest(ctx, uid, testUid),
  }),
);
