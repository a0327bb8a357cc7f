/** Links that log in once (specification 4.1, 4.7; decision D13). */
import { z } from 'zod';
import { ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { answersBody } from '../shapes.ts';

const loginLinkShape = z.strictObject({ token: z.string(), url: z.url() });

export const loginLinkRows = [
  endpoint({
    method: 'POST',
    path: '/login-token',
    access: 'token',
    summary:
      'Answers a link that logs the caller in, once and within ten minutes. An administrator may name a customer instead.',
    details: '`next` is where the link leads: a path of this installation such as `/inbox`.',
    answers: answersBody(loginLinkShape),
    operation: 'CreateLoginLink',
    variables: (input) => ({
      input: {
        customerUid: input.text('customer_uid', 'uid'),
        email: input.text('email'),
        next: input.text('next') || undefined,
      },
    }),
    present: ({ createLoginLink: { token, url } }) => ok({ token, url }),
  }),
];
