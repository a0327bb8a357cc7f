/** Starting the API-call nodes of an automation (decision D27). */
import { z } from 'zod';
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { executeApiCall, type ApiCallAnswer } from '../../domain/automations/api-calls/execute-api-call.ts';
import { NODE_ID_MAX } from '../../domain/automations/flow/flow-parts.ts';
import { runUid } from '../../lib/ids.ts';
import { builder } from '../builder.ts';

const writing = { scope: 'automations:write' } as const;

const AutomationCall = builder.objectRef<ApiCallAnswer>('AutomationCall').implement({
  description: 'What a call of an API-call node started.',
  authScopes: writing,
  fields: (t) => ({
    node: t.exposeString('node'),
    people: t.exposeInt('people', { description: 'Runs that go on now, or in a moment.' }),
    runUid: t.string({
      nullable: true,
      description: 'The first run of the person that was named; null: the call was for everybody.',
      resolve: ({ runIds: [first] }) => (first === undefined ? null : runUid(first)),
    }),
  }),
});

builder.mutationField('callAutomation', (t) =>
  t.fieldWithInput({
    type: AutomationCall,
    description:
      'Starts an API-call node: for one person who waits there, or for everybody who does. A person who does not wait there is a `WrongStateError` (`NOT_WAITING`).',
    authScopes: writing,
    input: {
      uid: t.input.string({ required: true }),
      subscriber: t.input.string({
        description:
          'The uid, id or address of a person on the list; absent: everybody. Null and a blank text are refused.',
        check: subscriberRefInput,
      }),
      node: t.input.string({
        description: 'Needed when the flow has several API-call nodes.',
        check: z.string().max(NODE_ID_MAX),
      }),
      payload: t.input.field({
        type: 'JsonObject',
        description:
          'Added to what conditions and mails read as `payload.*`. At most 64 KiB, and 4 KiB in a call for everybody.',
      }),
    },
    resolve: (_root, { input: { uid, subscriber, node, payload } }, ctx) =>
      executeApiCall(ctx, uid, {
        subscriber,
        node: node?.trim() ? node : undefined,
        payload,
      }),
  }),
);
