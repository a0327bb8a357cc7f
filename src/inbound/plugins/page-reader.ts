/** Somebody who is logged in looks at a page of a plugin. */
import type { PageFiles } from '../page.ts';
import type { Words } from '../words.ts';
import type { PluginRequest } from './plugin-request.ts';
import type { PluginSession } from './plugin-viewer.ts';

export interface PageReader {
  readonly request: PluginRequest;
  readonly session: PluginSession;
  readonly words: Words;
  readonly files: PageFiles;
}
