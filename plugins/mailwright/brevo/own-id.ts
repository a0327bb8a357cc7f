/** How our own id of a message goes to Brevo, and comes back in its events: in a header that its recipients can see, too. */
export const OWN_ID_HEADER = 'X-Mailin-custom';
const OWN_ID = /\bmailwright_id:([A-Za-z0-9._-]{1,64})/;

export function ownIdHeader(idempotencyKey: string): readonly [name: string, value: string] {
  return [OWN_ID_HEADER, `mailwright_id:${idempotencyKey}`];
}

export function ownIdOf(header: string | null | undefined): string | undefined {
  return OWN_ID.exec(header ?? '')?.[1];
}
