/** The columns of a customer and of a user that verbs write. */

import { typed } from '../../db/database.ts';
import type { Fields } from '../../db/fields.ts';
import type { CustomerContact } from './customer.ts';

export const customerFields = {
  uid: { column: 'uid', type: 'text' },
  name: { column: 'name', type: 'text' },
  timezone: { column: 'timezone', type: 'text' },
  languageId: { column: 'language_id', type: 'int?' },
  image: { column: 'image', type: 'text?' },
  contact: { column: 'contact', type: typed<CustomerContact>('json?') },
} satisfies Fields;

export const userFields = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
  email: { column: 'email', type: 'text' },
  emailKey: { column: 'email_key', type: 'text' },
  firstName: { column: 'first_name', type: 'text' },
  lastName: { column: 'last_name', type: 'text' },
  timezone: { column: 'timezone', type: 'text' },
  image: { column: 'image', type: 'text?' },
  passwordHash: { column: 'password_hash', type: 'text' },
} satisfies Fields;
