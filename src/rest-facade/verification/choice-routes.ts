/** Which verification servers a customer may use, by its plan. Extensions of the specification. */
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, uidShape } from '../shapes.ts';
import { textsIn } from '../text-list.ts';
import { usableVerificationServersShape } from './server-shapes.ts';

export const verificationChoiceRows = [
  endpoint({
    method: 'GET',
    path: '/usable_verification_servers',
    access: 'token',
    summary:
      'Lists the verification servers that the caller may use, by its plan; the first is used when none is named.',
    answers: answersBody(usableVerificationServersShape),
    operation: 'UsableVerificationServers',
    variables: () => ({}),
    present: ({ usableVerificationServers }) =>
      ok(
        usableVerificationServers.nodes.map(({ uid, name, type, isSystem }) => ({
          uid,
          name,
          type,
          is_system: isSystem,
        })),
      ),
  }),
  endpoint({
    method: 'PATCH',
    path: '/plans/:uid/email_verification_servers',
    access: 'admin',
    summary:
      "Sets which of the system's verification servers customers of a plan may use that does not give all of them.",
    details:
      '`email_verification_servers`: a list of uids. It counts while the option `all_email_verification_servers` of the plan is `no`.',
    answers: answersBody(actionShape({ plan_uid: uidShape })),
    operation: 'SetPlanVerificationServers',
    variables: (input) => ({
      input: { planUid: input.param('uid'), servers: textsIn(input, 'email_verification_servers') ?? [] },
    }),
    fieldName: (path) =>
      path.startsWith('servers') ? path.replace('servers', 'email_verification_servers') : undefined,
    present: ({ setPlanVerificationServers: { uid } }) => done('The verification servers were set', { plan_uid: uid }),
  }),
];
