/** From addresses that were verified by a mail: an extension of the specification. */
import { z } from 'zod';
import type { RestFromAddressFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { cursorArguments, cursorBody, cursorShape } from '../cursor.ts';
import { endpoint } from '../endpoint.ts';
import { actionShape, answersBody, timeShape, uidShape } from '../shapes.ts';
import { restTime } from '../timestamps.ts';

const fromAddressShape = z
  .strictObject({
    uid: uidShape,
    email: z.string(),
    mailed_at: timeShape.nullable(),
    verified_at: timeShape.nullable(),
    created_at: timeShape,
  })
  .meta({ id: 'FromAddress' });

export const fromAddressRows = [
  endpoint({
    method: 'GET',
    path: '/from_addresses',
    access: 'token',
    summary: 'Lists the From addresses that were verified by a mail, or wait for it.',
    details: 'Goes on with `after`: the `next` of the answer before.',
    answers: answersBody(cursorShape('from_addresses', fromAddressShape)),
    isIndex: true,
    operation: 'FromAddresses',
    variables: cursorArguments,
    present: ({ fromAddresses }) => ok(cursorBody('from_addresses', fromAddresses, presentAddress)),
  }),
  endpoint({
    method: 'POST',
    path: '/from_addresses',
    access: 'token',
    summary: 'Sends a mail with a link to a From address; whoever opens the link verifies it.',
    answers: answersBody(actionShape({ from_address_uid: uidShape, from_address: fromAddressShape })),
    required: ['email'],
    operation: 'VerifyFromAddress',
    variables: (input) => ({ email: input.text('email') ?? '' }),
    present: ({ verifyFromAddress: address }) =>
      done('A mail with a link was sent', { from_address_uid: address.uid, from_address: presentAddress(address) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/from_addresses/:uid',
    access: 'token',
    summary: 'Deletes a verified From address.',
    answers: answersBody(actionShape({ from_address_uid: uidShape })),
    operation: 'DeleteFromAddress',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteFromAddress: { uid } }) => done('Deleted', { from_address_uid: uid }),
  }),
];

function presentAddress(address: RestFromAddressFragment) {
  return {
    uid: address.uid,
    email: address.email,
    mailed_at: restTime(address.mailedAt),
    verified_at: restTime(address.verifiedAt),
    created_at: restTime(address.createdAt),
  };
}
