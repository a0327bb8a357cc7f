/** What an entry of the hook `register_payment_gateway` must be. */
import { z } from 'zod';
import type { PaymentGatewayRegistration } from '../plugin-api/index.ts';
import { checkBy, EntryError, functionShape } from './entry-check.ts';

const TEXT_LENGTH_MAX = 500;
/** No vendor has so many settings. */
const KEYS_MAX = 50;

const key = z.string().regex(/^[a-z][a-z0-9_]{0,49}$/, 'must be of small letters, digits and _');
const text = z
  .string()
  .min(1, 'must not be empty')
  .max(TEXT_LENGTH_MAX, `may have at most ${TEXT_LENGTH_MAX} characters`);

const registrationShape = z
  .strictObject({
    type: z.string().regex(/^[a-z][a-z0-9-]{0,49}$/, 'must be of small letters, digits and hyphens, such as "stripe"'),
    name: text,
    description: text,
    serviceFactory: functionShape<PaymentGatewayRegistration['serviceFactory']>(),
    icon: text.default('payment'),
    isRemoteSubscription: z.boolean().default(false),
    formView: z.string().max(TEXT_LENGTH_MAX).default(''),
    configKeys: z.array(key).max(KEYS_MAX),
    secretKeys: z.array(key).max(KEYS_MAX),
    currencies: z
      .array(z.string().regex(/^[A-Z]{3}$/, 'must be a code of ISO 4217 in capitals'))
      .min(1, 'must name a currency at least')
      .max(1_000),
    validate: functionShape<PaymentGatewayRegistration['validate']>(),
  })
  .refine(({ configKeys, secretKeys }) => secretKeys.every((secret) => configKeys.includes(secret)), {
    path: ['secretKeys'],
    message: 'must be among "configKeys"',
  });

/** `offline` is Mailwright's own. */
const OWN_TYPE = 'offline';

/** Kept as a copy with all defaults. Functions keep what they are called on: the entry may be an instance of a class. */
export const checkPaymentGateway = checkBy(z.unknown(), (value, { others = [] }) => {
  const own = typeof value === 'object' && value !== null ? value : {};
  const given = Object.fromEntries(
    Object.keys(registrationShape.shape).flatMap((name) => {
      const member: unknown = Reflect.get(own, name);
      return member === undefined ? [] : [[name, typeof member === 'function' ? member.bind(own) : member]];
    }),
  );
  const unknown = Object.keys(own).filter((name) => !Object.hasOwn(registrationShape.shape, name));
  if (unknown.length > 0) throw new EntryError(`There is no "${unknown.join('", "')}" in an entry of this hook.`);
  const { success, data, error } = registrationShape.safeParse(given);
  if (!success)
    throw new EntryError(
      error.issues.map(({ path, message }) => `"${path.map(String).join('.')}": ${message}.`).join(' '),
    );
  if (data.type === OWN_TYPE) throw new EntryError(`The type "${OWN_TYPE}" is Mailwright's own.`);
  if (
    others.some((other) => typeof other === 'object' && other !== null && 'type' in other && other.type === data.type)
  )
    throw new EntryError(`It has two gateways of the type "${data.type}".`);
  return data;
});
