/** How REST shows attachments, previews, tests and dry runs. */
import type {
  RestAttachmentFragment,
  RestDryRunFragment,
  RestPreviewFragment,
  RestTestMessageFragment,
} from '../../generated/operations.ts';
import { restTime } from '../timestamps.ts';

export function presentAttachment(attachment: RestAttachmentFragment) {
  return {
    uid: attachment.uid,
    name: attachment.name,
    inline: attachment.isInline,
    missing: attachment.isMissing,
    content_type: attachment.contentType,
    size: attachment.sizeBytes,
    url: attachment.url,
  };
}

export function presentPreview(preview: RestPreviewFragment) {
  const { subject, html, plain, headers, sizeBytes, links, warnings, url, urlExpiresAt } = preview;
  return {
    ...{ subject, html, plain, headers: headers.map(({ name, value }) => ({ name, value })) },
    ...{ size: sizeBytes, links: links.map((link) => link.url), warnings },
    ...{ url, url_expires_at: restTime(urlExpiresAt) },
  };
}

export function presentTest({ email, state, reply, createdAt }: RestTestMessageFragment) {
  return { email, status: state, reply, created_at: restTime(createdAt) };
}

export function presentDryRun(run: RestDryRunFragment) {
  return {
    status: run.status,
    status_reason: run.statusReason,
    total: run.total,
    looked_at: run.checked,
    composed: run.composed,
    skipped: Object.fromEntries(run.skipped.map(({ reason, count }) => [reason, count])),
    faulty: run.faulty,
    faults: run.faults.map(({ subscriberUid, email, message }) => ({ subscriber_uid: subscriberUid, email, message })),
    total_bytes: Number(run.totalBytes),
    largest_bytes: run.largestBytes,
    work_seconds: run.workSeconds,
    created_at: restTime(run.createdAt),
    started_at: restTime(run.startedAt),
    finished_at: restTime(run.finishedAt),
  };
}
