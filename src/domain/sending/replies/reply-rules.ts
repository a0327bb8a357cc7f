/** Texts that mail programs share (Postfix, Exim, Exchange, qmail, Sendmail and similar), the more specific ones first. */
import type { ReplyRule } from './reply.ts';

/** Greylisting accepts the second try if it does not come too soon; few demand more. */
const GREYLIST_SECONDS = 300;

const reputation: readonly ReplyRule[] = [
  {
    what: 'domain_on_a_block_list',
    words:
      /\b(?:dbl\.spamhaus|spamhaus dbl|surbl|uribl|ivmuri|rhsbl)|(?:url|uri|link|domain)s? (?:in (?:the |this )?(?:message|body) )?(?:is |are )?(?:black ?listed|listed in)/,
    class: 'block',
    scope: 'message',
  },
  {
    what: 'server_on_a_block_list',
    words:
      /spamhaus|\bzen\.|\bsbl\b|\bxbl\b|\bpbl\b|sorbs|spamcop|uceprotect|invaluement|abuseat|\bcbl\b|psbl|nixspam|mailspike|spamrats|backscatterer|manitu|blocklist\.de|junkemailfilter|senderscore|\brbl\b|dnsbl|\bbl\.[a-z]/,
    class: 'block',
    scope: 'server',
  },
  {
    what: 'server_is_blocked',
    words:
      /client host (?:\[[^\]]{1,60}\] )?(?:rejected|blocked)(?!: cannot find)|black ?listed|block ?listed|deny ?listed|(?:ip|host|server|address|network|sender) .{0,60}(?:is |has been |was |been )?(?:blocked|banned|blacklisted)|access denied .{0,30}reputation|bad reputation|low reputation|reputation/,
    codes: ['5', '421', '450', '451', '554'],
    class: 'block',
    scope: 'server',
  },
  {
    what: 'server_has_no_valid_reverse_name',
    words:
      /reverse (?:dns|hostname|name|lookup)|\brdns\b|\bptr\b|cannot find your (?:reverse )?hostname|client host rejected: cannot find/,
    class: 'block',
    scope: 'server',
  },
];

const pace: readonly ReplyRule[] = [
  {
    what: 'greylisting',
    words:
      /gr[ae]y-? ?list|postgrey|try again later.{0,20}gr[ae]y|first(?: |-)time sender|please try again in \d+ (?:second|minute)/,
    codes: ['4'],
    class: 'transient',
    scope: 'recipient',
    waitSeconds: GREYLIST_SECONDS,
  },
  {
    what: 'too_many_connections',
    words:
      /too many (?:concurrent |simultaneous |open )?(?:smtp )?(?:connections|sessions)|maximum number of (?:concurrent )?connections|connection limit|concurrency limit/,
    class: 'rate_limit',
    scope: 'server',
  },
  {
    what: 'too_many_recipients_in_one_session',
    words: /too many recipients/,
    class: 'rate_limit',
    scope: 'server',
  },
  {
    what: 'too_many_messages_in_one_session',
    words: /too many (?:messages|mails|emails) (?:in|on|per|for) (?:this |one )?(?:session|connection)/,
    class: 'transient',
    scope: 'server',
  },
  {
    what: 'too_fast',
    words:
      /rate ?-?limit|ratelimit|too (?:many|much) (?:messages|mails?|emails?)|too fast|throttl|slow(?:ed)? down|sending too|(?:hourly|message|sending|send) (?:rate|limit|quota) .{0,20}exceeded|exceeded .{0,30}(?:rate|hourly|messages per|emails per)|excessive (?:volume|rate)|high volume/,
    class: 'rate_limit',
    scope: 'domain',
  },
];

const mailbox: readonly ReplyRule[] = [
  {
    what: 'host_of_the_domain_does_not_take_its_mail',
    words: /(?:\bsaid: |undeliverable address|in reply to ).{0,200}\brelay(?:ing)?\b/,
    class: 'permanent',
    scope: 'recipient',
  },
  {
    what: 'account_may_not_send_as_this_sender',
    words:
      /not owned by (?:the )?(?:user|auth)|(?:from|sender) address (?:.{0,60} )?(?:is )?not (?:owned|verified|authori[sz]ed|permitted)|not (?:authori[sz]ed|allowed|permitted) to (?:send|use) (?:.{0,40} )?(?:from|sender|as sender)(?! (?:this |your |the )?(?:ip|host|server|network)\b)/,
    class: 'policy',
    scope: 'sender',
  },
  {
    what: 'account_may_not_send_as_this_sender',
    // Exchange
    status: ['.7.60'],
    class: 'policy',
    scope: 'sender',
  },
  {
    what: 'sender_address_refused',
    words:
      /sender (?:address |domain )?(?:.{0,60} )?(?:rejected|refused|invalid|not allowed|does not exist|not found|verify failed|unknown)|envelope sender|badmailfrom|return ?path|null sender|mail from .{0,30}(?:rejected|denied|not)/,
    class: 'policy',
    scope: 'sender',
  },
  {
    what: 'mailbox_full',
    words:
      /over ?-?quota|quota (?:is )?(?:exceed|full|limit)|exceed(?:s|ed)? .{0,30}quota|mailbox (?:is |has )?(?:full|exceeded)|out of storage|(?:mailbox|user|storage) .{0,40}(?:size|storage|space) limit|not enough (?:disk )?(?:space|storage)|insufficient (?:disk|mailbox) |postfach .{0,10}voll|bo[iî]te .{0,20}pleine|buz[oó]n lleno/,
    class: 'transient',
    scope: 'recipient',
  },
  {
    what: 'mailbox_disabled',
    words:
      /(?:mailbox|account|user|recipient|address|e-?mail)(?: .{1,60})? (?:is |has been |was )?(?:disabled|suspended|inactive|deactivated|expired|closed|terminated|locked|blocked by the owner)|inactive e?-?mail address/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'mailbox_unknown',
    words:
      /(?:user|recipient|mailbox|address|account|alias|addressee|e-?mail) (?:.{0,80} )?(?:is )?(?:unknown|not ?found|does ?n[o']t exist|does not have|doesn'?t have|not known|nonexist|non-exist|invalid|not listed|no longer (?:valid|exists|available|active)|not a valid|isn'?t valid)/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'mailbox_unknown',
    words:
      /(?:unknown|no such|invalid|non-?existent|nonexistent|bad|undeliverable|unrout(?:e)?able) (?:local )?(?:user|recipient|mailbox|address|account|person|alias|e-?mail)|no mailbox (?:here )?(?:by that|with that|for)|no (?:such )?(?:user|mailbox|person|recipient)\b|not our (?:customer|user)|there is no (?:such|one)|unbekannt|n'existe pas|inconnu|no existe|desconocid|non esiste|sconosciut|nie istnieje/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'mailbox_cannot_be_checked_now',
    words:
      /(?:user|recipient|mailbox|address|account)(?: .{0,60})? (?:unknown|not found|unverified)|unverified address|address verification|callout|callback|verification (?:failed|in progress)|no such user|unknown (?:user|recipient|local)/,
    codes: ['4'],
    class: 'transient',
    scope: 'recipient',
  },
  {
    what: 'domain_unknown',
    words:
      /(?:domain|host) (?:name )?(?:.{0,60} )?(?:not found|does not exist|doesn'?t exist|unknown|nxdomain|has no mail exchanger|does not accept mail|takes no mail)|null ?mx|no such domain|host or domain name not found|couldn'?t find any host|mx records? point to|no mx (?:record|host)|unknown domain/,
    codes: ['5'],
    status: ['.1.0', '.1.1', '.1.2', '.1.10', '.4.4', '.4.0', '.0.0', ''],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
];

const rules: readonly ReplyRule[] = [
  {
    what: 'mail_runs_in_circles',
    words: /mail loop|too many hops|hop count|loops? back to|routing loop|forwarding loop/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
  },
  {
    what: 'message_too_large',
    words:
      /(?:message|mail|content|attachment)(?: .{0,30})? (?:too (?:large|big|long)|exceeds|larger than)|(?:size|databytes) limit|exceeds .{0,30}(?:size|databytes)|message size|too large/,
    codes: ['5'],
    class: 'permanent',
    scope: 'message',
  },
  {
    what: 'login_needed',
    words: /client was not authenticated|anonymous (?:mail|clients?)/,
    class: 'policy',
    scope: 'server',
  },
  {
    what: 'not_authenticated',
    words:
      /\bdmarc\b|\bspf\b|\bdkim\b|unauthenticated|not authenticated|sender policy|authentication (?:checks?|results?)|domain owner/,
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'login_refused',
    words:
      /username and password|invalid (?:login|credentials|user ?name|password)|authentication (?:failed|unsuccessful|credentials|failure|invalid)|bad credentials|smtpclientauthentication is disabled/,
    codes: ['5', '454'],
    class: 'policy',
    scope: 'server',
  },
  {
    what: 'login_needed',
    words:
      /authentication (?:is )?(?:required|needed)|requires? (?:smtp )?authentication|must (?:first )?(?:auth|log ?in|issue)|please (?:auth|log ?in)|not logged in|smtp auth/,
    class: 'policy',
    scope: 'server',
  },
  {
    what: 'server_does_not_relay',
    words:
      /relay(?:ing)? (?:access )?(?:denied|not (?:permitted|allowed)|prohibited)|unable to relay|not (?:permitted|allowed|authori[sz]ed) to relay|we do not relay|rcpthosts|(?:denied|deny|refus\w{1,3}|reject\w{0,3}|temporarily) (?:to )?relay|relaying (?:temporarily )?denied|no relay|relay ?client/,
    class: 'policy',
    scope: 'server',
  },
  // Exchange
  { what: 'server_does_not_relay', status: ['.7.54'], class: 'policy', scope: 'server' },
  {
    what: 'name_given_in_ehlo_refused',
    words:
      /helo (?:command )?rejected|invalid (?:helo|ehlo)|bad helo|helo .{0,30}(?:invalid|rejected|required)|need fully-qualified hostname/,
    class: 'policy',
    scope: 'server',
  },
  { what: 'virus_found', words: /\bvirus|malware|infected|phish/, codes: ['5'], class: 'policy', scope: 'message' },
  {
    what: 'attachment_refused',
    words: /attachment|file type|executable/,
    codes: ['5'],
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'refused_as_spam',
    words:
      /\bspam|\bjunk\b|unsolicited|bulk ?mail|\bube\b|bogofilter|spamassassin|content (?:rejected|filter|blocked|denied)|message (?:was |has been )?(?:blocked|filtered)|looks like/,
    class: 'block',
    scope: 'message',
  },
  {
    what: 'domain_takes_no_mail',
    words: /does not accept (?:any )?(?:e?mail|messages)|host does not accept|no mail accepted/,
    codes: ['5'],
    class: 'permanent',
    scope: 'recipient',
    isMailboxGone: true,
  },
  {
    what: 'refused_by_a_rule',
    words: /polic(?:y|ies)|administrative(?:ly)? prohibit|not allowed|access denied|prohibited|transport rules/,
    codes: ['5'],
    class: 'policy',
    scope: 'message',
  },
  {
    what: 'server_is_busy',
    words:
      /server (?:is )?(?:too )?busy|service (?:temporarily )?(?:un|not )available|temporar(?:y|ily)|try (?:again )?later|too busy|overload|system load|resources|timeout|timed out/,
    codes: ['4'],
    status: ['', '.0.0', '.3.0', '.3.2', '.4.5', '.5.0'],
    class: 'transient',
    scope: 'domain',
  },
];

/** In the order in which they are tested. */
export const replyRules: readonly ReplyRule[] = [...reputation, ...pace, ...mailbox, ...rules];
