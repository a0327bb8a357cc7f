/** The operations of an import, and what they answer. */
import { z } from 'zod';

const ERROR = '... on Error { message } ... on ValidationError { fields { field messages } }';

export const START = `mutation StartImport($input: StartListImportInput!) {
  startListImport(input: $input) { __typename ... on MailListImport { uid } ${ERROR} }
}`;
export const started = z.object({ startListImport: z.object({ uid: z.string() }) });

export const APPEND = `mutation AppendToImport($input: AppendToListImportInput!) {
  appendToListImport(input: $input) { __typename ... on ImportPieceReceived { uid } ${ERROR} }
}`;
export const appended = z.object({ appendToListImport: z.object({ uid: z.string() }) });

export const FINISH = `mutation FinishImport($input: FinishListImportInput!) {
  finishListImport(input: $input) { __typename ... on MailListImport { notices } ${ERROR} }
}`;
export const finished = z.object({ finishListImport: z.object({ notices: z.array(z.string()) }) });

export const CANCEL = `mutation CancelImport($uid: String!) {
  cancelListImport(uid: $uid) { __typename ... on MailListImport { uid } ${ERROR} }
}`;
export const cancelled = z.object({ cancelListImport: z.object({ uid: z.string() }) });

export const WATCH = `subscription WatchImport($uid: String!) {
  listImport(uid: $uid) { isOver progress processed total }
}`;
export const watched = z.object({
  listImport: z.object({ isOver: z.boolean(), progress: z.number(), processed: z.number(), total: z.number() }),
});

/** Rejected lines shown on the terminal; the rest is in the download. */
const REJECTED_SHOWN_MAX = 10;

export const REPORT = `query ImportReport($uid: String!) {
  listImport(uid: $uid) {
    __typename
    ... on MailListImport {
      status added updated unchanged rejected error
      list { uid }
      rejectedLines(perPage: ${REJECTED_SHOWN_MAX}) { line reason }
    }
    ${ERROR}
  }
}`;
export const report = z.object({
  listImport: z.object({
    status: z.string(),
    added: z.number(),
    updated: z.number(),
    unchanged: z.number(),
    rejected: z.number(),
    error: z.string().nullable(),
    list: z.object({ uid: z.string() }),
    rejectedLines: z.array(z.object({ line: z.number(), reason: z.string() })),
  }),
});
