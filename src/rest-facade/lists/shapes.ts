/** What the rows of lists answer (specification 2.1, 2.2). */
import { z } from 'zod';
import { frequencyCapShape } from '../frequency-cap.ts';
import { quietHoursShape } from '../quiet-hours.ts';
import { actionShape, countShape, rateShape, timeShape, uidShape } from '../shapes.ts';

const row = {
  id: z.int(),
  uid: uidShape,
  name: z.string(),
  default_subject: z.string(),
  from_email: z.string(),
  from_name: z.string(),
  status: z.string(),
  created_at: timeShape,
  updated_at: timeShape,
};

export const listRowShape = z.strictObject(row).meta({ id: 'ListRow' });

const FIELD_TYPES = [
  ...(['string', 'text', 'textarea', 'number', 'date', 'datetime'] as const),
  ...(['dropdown', 'radio', 'multiselect', 'checkbox'] as const),
] as const;

const field = {
  uid: uidShape,
  key: z.string(),
  type: z.enum(FIELD_TYPES),
  label: z.string(),
  tag: z.string(),
  default_value: z.string().nullable(),
  visible: z.enum(['0', '1']),
  required: z.boolean(),
  custom_order: z.int().nullable(),
  options: z.array(z.string()),
  created_at: timeShape,
  updated_at: timeShape,
};
const fieldShape = z.strictObject(field).meta({ id: 'ListField' });
const newFieldShape = z.strictObject({ id: z.int(), mail_list_id: z.int(), ...field }).meta({ id: 'NewListField' });

export const contactShape = z
  .strictObject({
    company: z.string(),
    state: z.string(),
    address_1: z.string(),
    address_2: z.string(),
    city: z.string(),
    zip: z.string(),
    phone: z.string(),
    country: z.string(),
    email: z.string(),
    url: z.string(),
  })
  .meta({ id: 'ListContact' });

const statisticsShape = z
  .strictObject({
    subscriber_count: countShape,
    open_uniq_rate: rateShape,
    click_rate: rateShape,
    subscribe_rate: rateShape,
    unsubscribe_rate: rateShape,
    unsubscribe_count: countShape,
    unconfirmed_count: countShape,
  })
  .meta({ id: 'ListStatistics' });

/** Beyond the specification: all that a client set can be read, flags in the form in which they are written. */
const flagShape = z.union([z.literal(0), z.literal(1)]);
const optionsShape = {
  subscribe_confirmation: flagShape,
  send_welcome_email: flagShape,
  unsubscribe_notification: flagShape,
  send_goodbye_email: flagShape,
  public_signup: flagShape,
  signup_captcha: z.enum(['never', 'flood', 'always']),
  show_in_preferences: flagShape,
  language: z.string().nullable(),
  logo: z.string().nullable(),
  color: z.string().nullable(),
  timezone: z.string().nullable(),
  timezone_tag: z.string().nullable(),
  quiet_hours: quietHoursShape.nullable(),
  frequency_cap: frequencyCapShape.nullable(),
};

export const oneListShape = z.strictObject({
  list: z
    .strictObject({
      ...row,
      remind_message: z.string().nullable(),
      ...optionsShape,
      fields: z.array(fieldShape),
    })
    .meta({ id: 'List' }),
  // Empty for a list without a contact.
  contact: z.union([contactShape, z.strictObject({})]),
  statistics: statisticsShape,
});

export const listActionShape = actionShape({ list_uid: uidShape });
export const fieldDeletedShape = actionShape({ field_uid: uidShape });
export const fieldCreatedShape = actionShape({ field: newFieldShape });
export const countriesShape = z.array(z.strictObject({ id: z.int(), code: z.string(), name: z.string() }));

/** Null: there is no limit. */
export const oneCapShape = z.strictObject({ frequency_cap: frequencyCapShape.nullable() });
export const capActionShape = actionShape({ frequency_cap: frequencyCapShape.nullable() });
