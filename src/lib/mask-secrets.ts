/** Data that others gave, as it may be shown: values under names such as `password` or `api_key` are replaced. */

export const MASKED = '***';

/** Parts of names, written small and without anything but letters and digits. */
const SECRET_NAMES = [
  ...(['password', 'passwd', 'passphrase', 'secret', 'token', 'credential', 'authorization', 'cookie'] as const),
  ...(['apikey', 'accesskey', 'privatekey', 'signingkey', 'sessionid', 'cardnumber', 'cvv', 'cvc'] as const),
];

/** Whether a value of this name is a secret. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return SECRET_NAMES.some((part) => plain.includes(part));
}

/** The same data without its secrets, however deep they are. */
export function maskSecrets(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, isSecretName(name) && value !== null ? MASKED : masked(value)]),
  );
}

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  return isObject(value) ? maskSecrets(value) : value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
