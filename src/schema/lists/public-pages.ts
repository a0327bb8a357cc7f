/** What the public pages of a list (sign-up, profile, unsubscribing) look like, and who may sign up. */
import { CAPTCHA_MODES } from '../../domain/audience/list-fields.ts';
import { logosOfLists } from '../../domain/audience/list-appearance-read-model.ts';
import { viewerOf } from '../../domain/context.ts';
import { pictureAddress } from '../../domain/files/choose-picture.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { MailList } from './mail-list.ts';
import { SignUpCaptcha } from './sign-up-captcha.ts';

const readLogos = (ctx: GraphqlContext, ids: readonly bigint[]) => logosOfLists(ctx.db, viewerOf(ctx).customerId, ids);

builder.prismaObjectFields(MailList, (t) => ({
  publicSignup: t.exposeBoolean('publicSignup', { description: 'Whether anybody may sign up (`signUp`).' }),
  signupCaptcha: t.field({
    type: SignUpCaptcha,
    select: { signupCaptcha: true },
    resolve: ({ signupCaptcha }) => CAPTCHA_MODES.find((mode) => mode === signupCaptcha) ?? 'flood',
  }),
  showInPreferences: t.exposeBoolean('showInPreferences', {
    description:
      'Whether people on any list of the customer may choose it on their profile page and after unsubscribing.',
  }),
  language: t.exposeString('language', {
    nullable: true,
    description: 'Of its public pages: a code of `languages`; null: that of the customer.',
  }),
  logo: t.string({
    nullable: true,
    description: 'The address of the picture on its public pages; null also when its file was deleted.',
    resolve: async ({ id }, _args, ctx) => {
      const place = await loadBy(ctx, readLogos).load(id);
      return place && pictureAddress(ctx.installation.baseUrl, place);
    },
  }),
  color: t.exposeString('color', {
    nullable: true,
    description: 'Of headings and buttons of its public pages: `#rrggbb`.',
  }),
}));
