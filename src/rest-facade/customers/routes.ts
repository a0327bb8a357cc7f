/** Customers, for administrators (specification 4.7; decision D32). Their plans have rows of their own. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import { UPLOAD_OPERATIONS, withImage } from '../files/upload-incoming.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { contactOf, person } from './input.ts';
import { presentCustomer } from './present.ts';
import {
  customerActionShape,
  customerCreatedShape,
  customerShape,
  languagesShape,
  oneCustomerShape,
} from './shapes.ts';

export const customerRows = [
  endpoint({
    method: 'GET',
    path: '/customers',
    access: 'admin',
    summary: 'Lists the customers, the oldest first; `keyword` searches names and addresses.',
    answers: answersPage(customerShape),
    operation: 'Customers',
    variables: (input) => ({ ...pageArguments(input), keyword: input.text('keyword') }),
    present: ({ customersPage }) => page(customersPage, presentCustomer),
  }),
  endpoint({
    method: 'POST',
    path: '/customers',
    access: 'admin',
    summary: 'Makes a customer with its first user, and answers that user’s API token; it is shown only this once.',
    answers: answersCreated(customerCreatedShape),
    required: ['email', 'password'],
    operation: 'CreateCustomer',
    variables: (input) => ({
      input: { ...person(input), email: input.text('email') ?? '', password: input.text('password') ?? '' },
    }),
    present: ({ createCustomer: { customer, apiToken } }) =>
      created('Customer was successfully created', {
        customer_uid: customer.uid,
        api_token: apiToken,
        customer: presentCustomer(customer),
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/customers/:uid',
    access: 'admin',
    summary: 'Shows one customer.',
    answers: answersBody(oneCustomerShape),
    operation: 'Customer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ customer }) => ok({ customer: presentCustomer(customer) }),
  }),
  endpoint({
    method: 'GET',
    path: '/customers/by-email/:email',
    access: 'admin',
    summary: 'Shows the customer whose user has this address.',
    answers: answersBody(oneCustomerShape),
    operation: 'CustomerByEmail',
    variables: (input) => ({ email: input.param('email') }),
    present: ({ customerByEmail }) => ok({ customer: presentCustomer(customerByEmail) }),
  }),
  customEndpoint({
    method: 'PATCH',
    path: '/customers/:uid',
    access: 'admin',
    summary: 'Changes a customer: only what is given. A new password ends every login of the user.',
    details:
      '`image` is the uid of an uploaded picture, or a file of a multipart form: PNG, JPEG, WebP or GIF, 2 MB at most; empty ' +
      'removes it. `contact[...]` has the fields of a list’s contact, each optional. `quota` sets `sending_quota` of the present subscription, `options[...]` any of its options. ' +
      'JSON null clears `contact`, its `country_id` and `language_id`; with `quota` null the plan’s counts again.',
    answers: answersBody(oneCustomerShape),
    takesFile: true,
    dialectFirst: true,
    operations: [...UPLOAD_OPERATIONS, 'UpdateCustomer'],
    fieldName,
    run: (call) =>
      withImage(call, async (input, image) => {
        const options = input.plainObject('options');
        const changes = {
          ...person(input),
          uid: input.param('uid'),
          email: input.text('email'),
          password: input.text('password'),
          quota: input.isNull('quota') ? null : input.integer('quota'),
          options: options && { ...options },
          contact: contactOf(input, call.view().dialect),
          image,
        };
        await call.checkAll('UpdateCustomer', { input: changes }, input);
        const { updateCustomer } = await call.execute('UpdateCustomer', { input: changes });
        return ok({ customer: presentCustomer(updateCustomer) });
      }),
  }),
  endpoint({
    method: 'GET',
    path: '/languages',
    access: 'token',
    summary: 'Lists the languages with a translation, with their numbers for `language_id`.',
    answers: answersBody(languagesShape),
    operation: 'Languages',
    variables: () => ({}),
    present: ({ languages }) => ok(languages.nodes),
  }),
  endpoint({
    method: 'PATCH',
    path: '/customers/:uid/enable',
    access: 'admin',
    summary: 'Enables a disabled customer. Paused campaigns stay paused.',
    answers: answersBody(customerActionShape),
    operation: 'EnableCustomer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ enableCustomer: { uid } }) => done('Customer was enabled', { customer_uid: uid }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/customers/:uid/disable',
    access: 'admin',
    summary:
      'Disables a customer: its users and tokens are refused, and its campaigns pause. Its data stays; of the links in its mails only unsubscribing, confirming and the profile page work.',
    answers: answersBody(customerActionShape),
    operation: 'DisableCustomer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ disableCustomer: { uid } }) => done('Customer was disabled', { customer_uid: uid }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/customers/:uid',
    access: 'admin',
    summary: 'Deletes a customer and everything that it owns. This cannot be undone.',
    answers: answersBody(customerActionShape),
    operation: 'DeleteCustomer',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteCustomer: { uid } }) => done('Deleted', { customer_uid: uid }),
  }),
];

/** Options keep their names. */
function fieldName(path: string): string | undefined {
  return path.startsWith('options.') ? path : undefined;
}
