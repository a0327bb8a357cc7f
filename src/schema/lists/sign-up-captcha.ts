/** When a list asks those who sign up for a captcha. */
import { FLOOD_SIGN_UPS_PER_HOUR } from '../../domain/audience/sign-up-captcha.ts';
import { builder } from '../builder.ts';

export const SignUpCaptcha = builder.enumType('SignUpCaptcha', {
  description: 'When a public sign-up needs a captcha. It calls nobody: the browser computes for a moment.',
  values: {
    never: { description: 'Never.' },
    flood: { description: `While more than ${FLOOD_SIGN_UPS_PER_HOUR} people an hour sign up for the list.` },
    always: { description: 'Always: signing up then needs a script.' },
  },
});
