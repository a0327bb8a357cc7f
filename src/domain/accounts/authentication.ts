/** What a valid credential shows about its caller. */
import type { Viewer } from '../context.ts';
import type { RestDialect } from './api-token-store.ts';

export interface Authentication {
  readonly viewer: Viewer;
  /** The token's own REST dialect; null: the installation's. */
  readonly restDialect: RestDialect | null;
  /** False where the customer's plan says `api_access` no. */
  readonly mayUseApi: boolean;
  /** Whether it may be used during maintenance: administrators, and by the plan's `access_when_offline`. */
  readonly mayUseInMaintenance: boolean;
}
