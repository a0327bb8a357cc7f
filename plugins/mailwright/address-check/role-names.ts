/**
 * Local parts that stand for a task and not for a person: those of RFC 2142, and the usual ones of offices. Such an address is read by
 * several people, of whom perhaps none has subscribed.
 */
const ROLE_NAMES: ReadonlySet<string> = new Set([
  // RFC 2142
  ...[
    'info',
    'marketing',
    'sales',
    'support',
    'abuse',
    'noc',
    'security',
    'postmaster',
    'hostmaster',
    'usenet',
    'news',
  ],
  ...['webmaster', 'www', 'uucp', 'ftp'],
  // Offices and programs
  ...['admin', 'administrator', 'root', 'mailer-daemon', 'noreply', 'no-reply', 'donotreply', 'do-not-reply'],
  ...['contact', 'office', 'mail', 'email', 'hello', 'help', 'helpdesk', 'service', 'team', 'staff', 'all', 'everyone'],
  ...['billing', 'accounts', 'accounting', 'finance', 'invoice', 'invoices', 'orders', 'order', 'shop', 'jobs', 'hr'],
  ...['careers', 'press', 'media', 'legal', 'privacy', 'compliance', 'enquiries', 'inquiries', 'feedback', 'spam'],
  ...['dns', 'it', 'sysadmin', 'devnull', 'null', 'list', 'list-request', 'subscribe', 'unsubscribe', 'newsletter'],
]);

/** Whether the local part names a role, with or without a tag behind "+". */
export function isRole(localPart: string): boolean {
  return ROLE_NAMES.has(localPart.toLowerCase().split('+', 1)[0] ?? '');
}
