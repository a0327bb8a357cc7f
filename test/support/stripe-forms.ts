/** Forms and answers as Stripe writes them. */
export type Values = Record<string, unknown>;

export function ok(body: Values) {
  return { status: 200, body };
}

export function problem(status: number, error: Values) {
  return { status, body: { error } };
}

export function missing(id: string) {
  return problem(404, { type: 'invalid_request_error', code: 'resource_missing', message: `No such object: '${id}'` });
}

export function objectOf(value: unknown): Values {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** `a[b][0]=c` as `{a: {b: {0: c}}}`. */
export function nested(form: URLSearchParams): Values {
  const root: Values = {};
  for (const [name, value] of form) {
    const parts = name.split(/[[\]]+/).filter((part) => part !== '');
    let place = root;
    for (const part of parts.slice(0, -1)) {
      const next = objectOf(place[part]);
      place[part] = next;
      place = next;
    }
    place[parts.at(-1) ?? ''] = value;
  }
  return root;
}
