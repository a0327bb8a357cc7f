/** What a user decides about messages whose outcome is unknown. */
import { builder } from '../builder.ts';

export const UnknownDecision = builder.enumType('UnknownDecision', {
  description:
    'accept: the server did take the messages. resend: they go out again, to some maybe for the second time.',
  values: {
    accept: { description: 'The server did take the messages.' },
    resend: { description: 'They go out again, to some maybe for the second time.' },
  },
});
