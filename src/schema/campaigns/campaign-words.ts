/**
 * The verbs of campaigns name fields as the contract of REST does (`from_email`), GraphQL as it always does
 * (`fromEmail`). Here, and nowhere else, one becomes the other.
 */
import type { QuietHoursInput } from '../../domain/audience/quiet-hours.ts';
import type { UpdateCampaignInput } from '../../domain/campaigns/campaign-input.ts';
import { ValidationError } from '../../lib/errors.ts';
import { routesOf } from '../sending-servers/sending-route.ts';

export interface CampaignFields {
  readonly listUid?: string | null | undefined;
  readonly segmentUid?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly subject?: string | null | undefined;
  readonly fromEmail?: string | null | undefined;
  readonly fromName?: string | null | undefined;
  readonly replyTo?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly plain?: string | null | undefined;
  readonly trackOpen?: boolean | null | undefined;
  readonly trackClick?: boolean | null | undefined;
  readonly signDkim?: boolean | null | undefined;
  readonly skipFailedMessages?: boolean | null | undefined;
  readonly embedImages?: boolean | null | undefined;
  readonly unknownPolicy?: 'park' | 'retry' | null | undefined;
  readonly deliveryAt?: Date | null | undefined;
  readonly sendingServers?:
    | readonly { readonly uid: string; readonly weight?: number | null | undefined }[]
    | null
    | undefined;
  readonly quietHours?: QuietHoursInput | null | undefined;
  readonly deliverInSubscriberTimezone?: boolean | null | undefined;
  readonly localTime?: string | null | undefined;
}

/** The input as the verbs take it. Null clears a time and a segment; of everything else it leaves the value alone. */
export function verbInput(fields: CampaignFields): UpdateCampaignInput {
  return {
    list_uid: fields.listUid ?? undefined,
    segment_uid: fields.segmentUid,
    name: fields.name ?? undefined,
    subject: fields.subject ?? undefined,
    from_email: fields.fromEmail ?? undefined,
    from_name: fields.fromName ?? undefined,
    reply_to: fields.replyTo ?? undefined,
    html: fields.html ?? undefined,
    plain: fields.plain ?? undefined,
    track_open: fields.trackOpen ?? undefined,
    track_click: fields.trackClick ?? undefined,
    sign_dkim: fields.signDkim ?? undefined,
    skip_failed_messages: fields.skipFailedMessages ?? undefined,
    embed_images: fields.embedImages ?? undefined,
    unknown_policy: fields.unknownPolicy ?? undefined,
    delivery_at: fields.deliveryAt,
    sending_servers: fields.sendingServers === undefined ? undefined : routesOf(fields.sendingServers),
    quiet_hours: fields.quietHours,
    deliver_in_subscriber_timezone: fields.deliverInSubscriberTimezone ?? undefined,
    local_time: fields.localTime,
  };
}

/** Runs a verb; where it finds fault with fields, they are named as GraphQL names them. */
export async function inGraphqlWords<T>(verb: Promise<T>): Promise<T> {
  try {
    return await verb;
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const fields = Object.entries(error.fields).map(([name, messages]) => [graphqlName(name), messages]);
    throw new ValidationError(Object.fromEntries(fields), error.code, error.message);
  }
}

function graphqlName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
