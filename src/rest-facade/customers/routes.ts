/** Customers, for administrators (specification 4.7; decision D32). Their plans have rows of their own. */
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { presentCustomer } from './present.ts';
import { customerActionShape, customerCreatedShape, customerShape, oneCustomerShape } from './shapes.ts';

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
  endpoint({
    method: 'PATCH',
    path: '/customers/:uid',
    access: 'admin',
    summary: 'Changes a customer: only what is given. A new password ends every login of the user.',
    answers: answersBody(oneCustomerShape),
    operation: 'UpdateCustomer',
    variables: (input) => ({
      input: {
        ...person(input),
        uid: input.param('uid'),
        email: input.text('email'),
        password: input.text('password'),
      },
    }),
    present: ({ updateCustomer }) => ok({ customer: presentCustomer(updateCustomer) }),
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

function person(input: Input) {
  return {
    firstName: input.text('first_name'),
    lastName: input.text('last_name'),
    timezone: input.text('timezone'),
    languageId: input.integer('language_id'),
  };
}
