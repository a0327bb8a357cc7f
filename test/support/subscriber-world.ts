/** What tests of subscribers over REST begin with: a list of one tenant, people on it, and the same people over GraphQL. */
import { LIST_BODY } from './list-body.ts';
import { startRestApp } from './rest-app.ts';

export async function startSubscriberWorld() {
  const app = await startRestApp();
  const owner = await app.newTenant();
  const stranger = await app.newTenant();
  let people = 0;

  /** A call of the owner's, unless another token is given. */
  const as = (method = 'GET', body?: unknown, token = owner.token) => ({
    token,
    method,
    ...(body === undefined ? {} : { body }),
  });
  const newList = async (changes: object = {}, token = owner.token): Promise<string> => {
    const { body } = await app.rest('/lists', as('POST', { ...LIST_BODY, ...changes }, token));
    return (body as { list_uid: string }).list_uid;
  };
  const list = await newList();
  /** An address that nobody has. */
  const address = () => `p${(people += 1)}@example.org`;
  const add = async (changes: object = {}) => {
    const { body } = await app.rest('/subscribers', as('POST', { list_uid: list, EMAIL: address(), ...changes }));
    const { subscriber_uid: uid, subscriber_id: id } = body as { subscriber_uid: string; subscriber_id: string };
    return { uid, id };
  };
  /** The person as GraphQL tells it. */
  const twin = async (
    uid: string,
    fields = 'email status tags fieldValues consentEvents { status source }',
  ): Promise<Record<string, unknown>> => {
    const query = `query ($uid: String!) { subscriber(subscriber: $uid) { ... on Subscriber { ${fields} } } }`;
    const answer = await fetch(`${app.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${owner.token}` },
      body: JSON.stringify({ query, variables: { uid } }),
    });
    return ((await answer.json()) as { data: { subscriber: Record<string, unknown> } }).data.subscriber;
  };
  return { app, owner, stranger, list, as, newList, address, add, twin };
}
