/**
 * How large providers and their gateways word refusals that code and status do not explain: the marks in their texts (S3140,
 * TSS04, CS01) and fixed phrases. From the providers' postmaster pages and senders' reports; one row per meaning, the more
 * specific one first.
 */
import type { ReplyRule } from './reply.ts';

/** For providers that limit by reputation: a shorter wait only prolongs the limit. */
const COOL_DOWN_SECONDS = 600;
/** Limits of a relay account that renew within the hour, or the day. */
const HOUR_SECONDS = 3_600;

const gmail: readonly ReplyRule[] = [
  {
    what: 'not_authenticated',
    words: /because (?:it|the sender) is unauthenticated|unauthenticated email/,
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'gmail_limits_the_rate',
    words: /unusual rate of (?:unsolicited |e?mail)|unusual amount of/,
    codes: ['4'],
    class: 'rate_limit',
    scope: 'domain',
    waitSeconds: COOL_DOWN_SECONDS,
  },
  {
    what: 'recipient_gets_mail_too_quickly',
    words: /receiving (?:e?mail|messages) (?:too quickly|at a rate that)|recipient has exceeded message rate/,
    class: 'rate_limit',
    scope: 'recipient',
    waitSeconds: HOUR_SECONDS,
  },
  {
    what: 'daily_limit_of_the_account',
    words: /daily (?:user |smtp relay )?(?:sending|message|send) (?:limit|quota)|daily message quota/,
    class: 'rate_limit',
    scope: 'server',
    waitSeconds: HOUR_SECONDS,
  },
  {
    what: 'blocked_by_gmail',
    words:
      /unusual rate of unsolicited|very low reputation of the sending|the ip you'?re using to send mail is not authorized/,
    codes: ['5'],
    class: 'block',
    scope: 'domain',
  },
  {
    what: 'blocked_as_unsolicited',
    words: /detected that this message is (?:likely )?(?:unsolicited|suspicious|spam)/,
    class: 'block',
    scope: 'domain',
  },
  { what: 'content_blocked', words: /content presents a potential security/, class: 'policy', scope: 'message' },
];

const outlook: readonly ReplyRule[] = [
  {
    what: 'on_the_block_list_of_outlook',
    words:
      /\((?:s3140|s3150)\)|\bs31[45]0\b|part of their network is on our block list|\b(?:sc-00[1-4]|dy-00[12]|ou-00[12])\b/,
    class: 'block',
    scope: 'domain',
  },
  {
    what: 'outlook_limits_the_rate',
    words: /\brp-00[1-3]\b|has exceeded the (?:rate|connection) limit|temporarily rate limited due to ip reputation/,
    class: 'rate_limit',
    scope: 'domain',
    waitSeconds: COOL_DOWN_SECONDS,
  },
  {
    what: 'banned_by_microsoft',
    words: /access denied, (?:banned send(?:er|ing ip)|spam abuse detected)|traffic not accepted from this ip/,
    class: 'block',
    scope: 'domain',
  },
  {
    what: 'account_blocked_for_outbound_spam',
    words: /bad outbound sender|tenant has exceeded threshold|unregistered tenant|blocked from sending/,
    class: 'block',
    scope: 'server',
  },
  {
    // Fewer connections are enough: the account itself needs no rest.
    what: 'too_many_connections',
    words: /concurrent connections limit exceeded|sending concurrency/,
    class: 'rate_limit',
    scope: 'server',
  },
  {
    what: 'limit_of_the_account',
    words: /submission quota exceeded|message submission rate|recipient limit (?:exceeded|reached)/,
    class: 'rate_limit',
    scope: 'server',
    waitSeconds: HOUR_SECONDS,
  },
  {
    what: 'exchange_is_busy',
    words: /server busy\b.{0,80}\bas\d{4,9}|\bas\(?\d{4,9}\)?.{0,20}$|please try again later \(s\d{3}\)/,
    codes: ['4'],
    class: 'rate_limit',
    scope: 'domain',
  },
  {
    what: 'authentication_asked_for_by_outlook',
    words: /does ?n[o']t meet the required authentication level/,
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'mailbox_unknown',
    words: /resolver\.adr\.(?:ex)?recip(?:ient)?notfound|recipient not found by smtp address lookup/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'mailbox_unknown',
    words: /recipient address rejected: access denied/,
    codes: ['5'],
    status: ['.4.1'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'mailbox_unknown',
    words: /requested action not taken: mailbox unavailable/,
    codes: ['550'],
    // Programs that report it and were given no status say .0.0.
    status: ['.5.0', '.1.1', '.0.0', ''],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'recipient_takes_mail_of_few_senders_only',
    words:
      /resolver\.rst\.(?:notauthorized|authrequired)|not have permission to (?:send|submit) to this recipient|sender not authenticated for group|recipientrestricted/,
    class: 'policy',
    scope: 'recipient',
  },
  {
    what: 'account_may_not_send_as_this_sender',
    words:
      /(?:permissions?|authori[sz]ed|allowed|permitted) to send (?:mail |e-?mail |messages )?(?:as|from|for) (?:this|the|that|your) (?!ip\b|host|server|network|address of)|sendasdenied|send ?as denied/,
    class: 'policy',
    scope: 'sender',
  },
];

const yahoo: readonly ReplyRule[] = [
  {
    what: 'blocked_by_yahoo',
    words: /\[tss(?:09|11)\]|permanently deferred|\[bl2\d\]|not accepted for policy reasons.{0,40}\[bl/,
    class: 'block',
    scope: 'domain',
  },
  {
    what: 'yahoo_limits_the_rate',
    words:
      /\[tss?0[1-8]\]|\[ts0\d\]|temporarily deferred due to (?:unexpected volume|user complaints)|message temporarily deferred|messages from .{1,60} temporarily deferred/,
    codes: ['4'],
    class: 'rate_limit',
    scope: 'domain',
    waitSeconds: COOL_DOWN_SECONDS,
  },
  { what: 'refused_by_a_rule', words: /\[ph0\d\]|not accepted for policy reasons/, class: 'policy', scope: 'message' },
  {
    what: 'mailbox_unknown',
    words:
      /this user doesn'?t have an? .{1,40} account|delivery error: dd (?:sorry|this user)|mailbox is disabled \(554\.30\)/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
];

const others: readonly ReplyRule[] = [
  { what: 'refused_by_icloud', words: /\[(?:cs0\d|hm0\d|hme\d)\]/, class: 'policy', scope: 'message' },
  {
    what: 'on_the_block_list_of_gmx_or_web_de',
    words:
      /(?:nemesis|gmx|web\.de|kundenserver).{0,120}(?:black ?listed|no smtp service|bad dns ptr)|error-messages\?[^ ]{0,60}c=(?:bl|rdns|rtr)\b/,
    class: 'block',
    scope: 'domain',
  },
  { what: 'on_the_block_list_of_t_online', words: /@rx\.t-online/, class: 'block', scope: 'domain' },
  {
    what: 'refused_as_spam_by_mail_ru_or_yandex',
    words: /notspam-support|under suspicion of spam/,
    class: 'block',
    scope: 'message',
  },
  {
    what: 'mailbox_unknown',
    words: /local mailbox .{1,80} is unavailable|account is disabled|no such user/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'refused_by_qq',
    words: /\b(?:mi|dt):(?:spb|spm|spf)\b|mail content denied/,
    class: 'block',
    scope: 'message',
  },
  {
    what: 'the_provider_limits_the_rate',
    words:
      /connection frequency limited|\brl0{3}\d{3}\b|hvu:b[12]|service refused, please try later|\bofr_?999\b|\blpn\d{3}_(?:104|402)\b/,
    class: 'rate_limit',
    scope: 'domain',
    waitSeconds: COOL_DOWN_SECONDS,
  },
  {
    what: 'on_the_block_list_of_the_provider',
    words:
      /\bbl0{3}\d{3}\b|aup#|(?:rly|dns|con):b[1-6]\b|attrbl|cxbl|hl:rep\b|\bofr_?50\d\b|\bofr\d{3}_\d{3}\b.{0,80}(?:black|block)/,
    class: 'block',
    scope: 'domain',
  },
  // gateways of companies
  {
    what: 'on_a_block_list_of_proofpoint',
    words: /ipcheck\.proofpoint|support\.proofpoint\.com\/(?:dnsbl|rbl)|blocked - see https?:/,
    class: 'block',
    scope: 'server',
  },
  {
    what: 'greylisting',
    words: /mimecast.{0,80}(?:doc-1369|greylist)|internal resources are temporarily unavailable/,
    codes: ['4'],
    class: 'transient',
    scope: 'recipient',
  },
  {
    what: 'mailbox_unknown',
    words: /invalid recipient - https?:\/\/[\w.]{0,40}mimecast/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'refused_by_mimecast',
    words:
      /mimecast\.(?:com|org)(?!.{0,80}invalid recipient)|anti-?spoofing policy|header based manually blocked senders|email rejected due to security policies/,
    codes: ['5'],
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'on_the_block_list_of_barracuda',
    words: /barracudacentral|barracuda reputation/,
    class: 'block',
    scope: 'server',
  },
  {
    what: 'refused_by_barracuda',
    words: /permanent failure for one or more recipients \([^)]{0,200}:blocked\)/,
    class: 'block',
    scope: 'message',
  },
  {
    what: 'poor_reputation',
    words: /poor reputation|sending mta's|senderbase|talosintelligence/,
    class: 'block',
    scope: 'server',
  },
  {
    what: 'on_a_block_list',
    words: /trend ?micro|email reputation service|cloudmark|cmae|messagelabs/,
    codes: ['5'],
    class: 'block',
    scope: 'server',
  },
  // relays for outgoing mail
  {
    what: 'relay_limits_the_rate',
    words: /throttling failure: maximum sending rate/,
    class: 'rate_limit',
    scope: 'server',
    waitSeconds: 1,
  },
  {
    what: 'limit_of_the_account',
    words:
      /maximum credits exceeded|quota (?:of emails )?exceeded for (?:your|this) (?:account|plan)|sending (?:limit|quota) (?:exceeded|reached)|too many recipients received this hour|monthly .{0,20}limit/,
    class: 'rate_limit',
    scope: 'server',
    waitSeconds: HOUR_SECONDS,
  },
  {
    what: 'account_suspended_by_the_relay',
    words:
      /sending suspended for this account|account (?:has been |is )?(?:suspended|under review|not activated)|free accounts are for test/,
    class: 'block',
    scope: 'server',
  },
  {
    what: 'sender_not_verified_with_the_relay',
    words:
      /email address is not verified|verified sender identity|identities failed the check|unauthenticated senders not allowed|sender signature|(?:sender|sending|from) domain .{0,60}(?:not (?:been )?verified|unverified|not registered)/,
    class: 'policy',
    scope: 'sender',
  },
  { what: 'our_address_not_known_to_the_relay', words: /unauthorized ip address/, class: 'policy', scope: 'server' },
  {
    what: 'relay_holds_the_address_as_inactive',
    words: /inactive recipient|recipient is inactive|on (?:our|the|your) suppression list/,
    codes: ['4', '5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
];

/** In the order in which they are tested. */
export const providerReplies: readonly ReplyRule[] = [...gmail, ...outlook, ...yahoo, ...others];
