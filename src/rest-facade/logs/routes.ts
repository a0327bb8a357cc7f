/** The six logs of a campaign as downloads (specification 4.4, decision D24): CSV, or a JSON array. */
import { stream } from '../answer.ts';
import { customEndpoint } from '../endpoint.ts';
import { jsonArrayOf, textsOf, type Piece } from '../pieces.ts';
import type { Call } from '../row.ts';
import { answersStream } from '../shapes.ts';

const LOGS = ['tracking', 'open', 'click', 'bounce', 'feedback', 'unsubscribe'] as const;
type Log = (typeof LOGS)[number];

const CSV = 'text/csv; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

export const logRows = LOGS.map((log) =>
  customEndpoint({
    method: 'GET',
    path: `/campaigns/:uid/${log}-log/download`,
    access: 'token',
    summary: `Downloads the ${log} log of a campaign as CSV, or as a JSON array.`,
    answers: answersStream(CSV, JSON_TYPE),
    operations: ['CampaignLogCsv', 'CampaignLogJson'],
    async run(call) {
      const uid = call.input.param('uid');
      const type = typeOf(call);
      const read = (after: string | null) => (type === 'json' ? readJson : readCsv)(call, { uid, log, after });
      const texts = textsOf(await read(null), read);
      const pieces = type === 'json' ? jsonArrayOf(texts) : texts;
      return stream({ contentType: type === 'json' ? JSON_TYPE : CSV, fileName: `${log}-log-${uid}.${type}`, pieces });
    },
  }),
);

/** `csv` unless `json` is asked for. */
function typeOf({ input }: Call): 'csv' | 'json' {
  const given = input.choice('type', ['csv', 'json']);
  input.check();
  return given ?? 'csv';
}

interface Wanted {
  readonly uid: string;
  readonly log: Log;
  readonly after: string | null;
}

async function readCsv(call: Call, wanted: Wanted): Promise<Piece> {
  const { csv, cursor } = (await call.execute('CampaignLogCsv', { ...wanted })).campaignLog;
  return { text: csv, cursor };
}

async function readJson(call: Call, wanted: Wanted): Promise<Piece> {
  const { json, cursor } = (await call.execute('CampaignLogJson', { ...wanted })).campaignLog;
  return { text: json, cursor };
}
