/** How REST shows files. */
import type { RestFileFragment } from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentFile(file: RestFileFragment) {
  return {
    uid: file.uid,
    name: file.name,
    path: file.path,
    url: file.url,
    content_type: file.contentType,
    size: Number(file.sizeBytes),
    created_at: restTime(file.createdAt),
  };
}
