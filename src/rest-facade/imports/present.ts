/** How REST shows imports (decision D47). */
import type { RestListImportFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentImport(found: RestListImportFragment, apiUrl: string) {
  return {
    uid: found.uid,
    file_name: found.fileName,
    status: found.status,
    total: found.total,
    processed: found.processed,
    added: found.added,
    updated: found.updated,
    unchanged: found.unchanged,
    rejected: found.rejected,
    rejected_url: found.rejected > 0 ? `${apiUrl}/lists/${found.list.uid}/imports/${found.uid}/rejected` : null,
    error: found.error,
    notices: found.notices,
    columns: found.columns.map(({ header, target }) => ({ header, target })),
    created_at: restTime(found.createdAt),
    finished_at: restTime(found.finishedAt),
  };
}
