/** A list as a download (decision D47). */
import { stream } from '../answer.ts';
import { customEndpoint } from '../endpoint.ts';
import { textsOf, type Piece } from '../pieces.ts';
import { answersStream } from '../shapes.ts';

const CSV = 'text/csv; charset=utf-8';

export const exportRows = [
  customEndpoint({
    method: 'GET',
    path: '/lists/:uid/export',
    access: 'token',
    summary: 'Downloads all subscribers of a list as CSV; an import accepts this file.',
    answers: answersStream(CSV),
    operations: ['ListExport'],
    async run(call) {
      const listUid = call.input.param('uid');
      const read = async (after: string | null): Promise<Piece> => {
        const { csv, cursor } = (await call.execute('ListExport', { listUid, after })).listExport;
        return { text: csv, cursor };
      };
      return stream({ contentType: CSV, fileName: `list-${listUid}.csv`, pieces: textsOf(await read(null), read) });
    },
  }),
];
