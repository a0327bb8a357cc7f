/** Login, the current user, and the installation's version (decisions D11, D12; specification 9). */
import { done, ok } from '../answer.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { UPLOAD_OPERATIONS, withImage } from '../files/upload-incoming.ts';
import { presentUser } from './present.ts';
import { answersBody } from '../shapes.ts';
import { installationShape, loggedInShape, userShape } from './shapes.ts';

export const sessionRows = [
  customEndpoint({
    method: 'GET',
    path: '/',
    access: 'public',
    summary: 'Shows the installation: name, version and addresses.',
    answers: answersBody(installationShape),
    operations: [],
    run(call) {
      const { product, apiUrl } = call.view();
      return ok({ name: product.name, version: product.version, base_url: product.baseUrl, api_url: apiUrl });
    },
  }),
  endpoint({
    method: 'POST',
    path: '/user/login',
    access: 'public',
    summary: 'Exchanges an address and a password (and a `code`, with two-factor login) for a new token.',
    answers: answersBody(loggedInShape),
    required: ['email', 'password'],
    operation: 'LogIn',
    variables: (input) => ({
      input: {
        email: input.text('email') ?? '',
        password: input.text('password') ?? '',
        code: input.text('code') ?? input.text('otp'),
      },
    }),
    present: ({ logIn: { token, user } }) =>
      done('You are logged in.', { token, api_token: token, user: presentUser(user) }),
  }),
  endpoint({
    method: 'GET',
    path: '/me',
    access: 'token',
    summary: 'Shows the user of this token.',
    answers: answersBody(userShape),
    operation: 'Me',
    variables: () => ({}),
    present: ({ me }) => ok(presentUser(me)),
  }),
  customEndpoint({
    method: 'PATCH',
    path: '/me',
    access: 'token',
    summary: 'Changes the profile of the token’s user: only what is given.',
    details:
      'A new `email` needs the `current_password`. `image` is the uid of an uploaded picture, or a file of a multipart form: PNG, ' +
      'JPEG, WebP or GIF, 2 MB at most; empty removes it.',
    answers: answersBody(userShape),
    takesFile: true,
    operations: [...UPLOAD_OPERATIONS, 'UpdateProfile'],
    run: (call) =>
      withImage(call, async (input, image) => {
        const changes = {
          firstName: input.text('first_name'),
          lastName: input.text('last_name'),
          timezone: input.text('timezone'),
          email: input.text('email'),
          currentPassword: input.text('current_password'),
          image,
        };
        await call.checkAll('UpdateProfile', { input: changes }, input);
        return ok(presentUser((await call.execute('UpdateProfile', { input: changes })).updateProfile));
      }),
  }),
];
