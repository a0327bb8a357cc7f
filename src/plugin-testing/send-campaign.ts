/** Sends one campaign to one person, for tests of what happens to a message. */
import type { Rest } from './rest-call.ts';

export interface CampaignToSend {
  /** The person's address; a new list with this person alone is made. */
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  /** Further fields of the person, such as `FIRST_NAME`. */
  readonly fields?: Readonly<Record<string, string>>;
}

export interface StartedCampaign {
  readonly campaignUid: string;
  readonly listUid: string;
}

const SENDER = 'garden@example.com';
const CONTACT = {
  ...{ company: 'Garden', address_1: 'Wiesenweg 1', zip: '10115', city: 'Berlin', state: 'Berlin', country_id: 81 },
  ...{ phone: '+49 30 1', email: SENDER },
};

/** Makes list, person and campaign and starts it; the mail arrives a moment later. Rejects with the answer to what fails. */
export async function sendCampaign(
  rest: Rest,
  { to, subject, html, fields = {} }: CampaignToSend,
): Promise<StartedCampaign> {
  const post = async (path: string, body: object): Promise<object> => {
    const answer = await rest(path, { method: 'POST', body });
    if (answer.status > 201 || typeof answer.body !== 'object' || answer.body === null)
      throw new Error(`POST ${path} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const from = { from_name: 'The garden', from_email: SENDER };
  const list = await post('/lists', { name: `For ${to}`, default_subject: subject, ...from, contact: CONTACT });
  const listUid = textOf(list, 'list_uid');
  await post('/subscribers', { list_uid: listUid, EMAIL: to, ...fields });
  const campaign = await post('/campaigns', { list_uid: listUid, name: subject, subject, ...from, html });
  const campaignUid = textOf(campaign, 'campaign_uid');
  await post(`/campaigns/${campaignUid}/run`, {});
  return { campaignUid, listUid };
}

function textOf(answer: object, key: string): string {
  const found = Object.entries(answer).find(([name]) => name === key)?.[1];
  if (typeof found !== 'string') throw new Error(`There is no ${key} in ${JSON.stringify(answer)}`);
  return found;
}
