/** What the logs of a campaign share: the campaign, and the values of cells. */

/** The campaign, as far as a log needs it. */
export interface LoggedCampaign {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly listId: bigint;
  readonly fromEmail: string;
  readonly snapshotOn: string | null;
}

export type LogCell = string | boolean | null;
