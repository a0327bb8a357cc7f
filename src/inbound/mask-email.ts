/** An address as a public page shows it: its owner recognises it, a stranger with a forwarded link does not learn it. */

/** `ann.lee@example.org` becomes `a…@example.org`. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@');
  const [first = ''] = email;
  return at > 0 ? `${first}…${email.slice(at)}` : '…';
}
