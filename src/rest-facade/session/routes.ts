/** Logging in, who am I, and what installation this is (decisions D11, D12; specification 9). */
import { done, ok } from '../answer.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { presentUser } from './present.ts';

export const sessionRows = [
  customEndpoint({
    method: 'GET',
    path: '/',
    access: 'public',
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
    operation: 'LogIn',
    variables: (input) => ({ input: { email: input.text('email') ?? '', password: input.text('password') ?? '' } }),
    present: ({ logIn: { token, user } }) =>
      done('You are logged in.', { token, api_token: token, user: presentUser(user) }),
  }),
  endpoint({
    method: 'GET',
    path: '/me',
    access: 'token',
    operation: 'Me',
    variables: () => ({}),
    present: ({ me }) => ok(presentUser(me)),
  }),
];
