/** What a check of the installation answers. */

export const checkStatuses = ['ok', 'warning', 'error'] as const;
export type CheckStatus = (typeof checkStatuses)[number];

/** The result of a check. */
export interface CheckResult {
  readonly status: CheckStatus;
  readonly message: string;
  /** What to do; null when nothing has to be done. */
  readonly advice: string | null;
}

export const ok = (message: string): CheckResult => ({ status: 'ok', message, advice: null });
export const warning = (message: string, advice: string): CheckResult => ({ status: 'warning', message, advice });
export const fault = (message: string, advice: string): CheckResult => ({ status: 'error', message, advice });
