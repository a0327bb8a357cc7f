/** How REST shows lists (specification 2.1, 2.2): the email address is the first of a list's fields here. */
import type { RestListFieldFragment, RestListRowFragment } from '../../generated/operations.ts';
import type { DataOf } from '../operations.ts';
import { presentFrequencyCap } from '../frequency-cap.ts';
import { presentQuietHours } from '../quiet-hours.ts';
import { restTime } from '../timestamps.ts';

type OneList = DataOf<'List'>['list'];

/** Every list has it; it is no custom field, and lives as long as the list: uid and times are the list's. */
function emailField({ uid, createdAt }: RestListRowFragment) {
  return {
    ...{ uid, key: 'EMAIL', type: 'string', label: 'Email', tag: 'EMAIL', default_value: null },
    ...{ visible: '1', required: true, custom_order: null, options: [] },
    ...{ created_at: restTime(createdAt), updated_at: restTime(createdAt) },
  };
}

export function presentListRow(list: RestListRowFragment) {
  return {
    id: Number(list.id),
    uid: list.uid,
    name: list.name,
    default_subject: list.defaultSubject,
    from_email: list.fromEmail,
    from_name: list.fromName,
    status: list.status,
    created_at: restTime(list.createdAt),
    updated_at: restTime(list.updatedAt),
  };
}

export function presentList(list: OneList) {
  const { statistics } = list;
  const fields = [emailField(list), ...list.fields.map(presentField)];
  return {
    list: { ...presentListRow(list), remind_message: list.remindMessage, ...presentOptions(list), fields },
    contact: presentContact(list.contact),
    statistics: {
      subscriber_count: statistics.subscriberCount,
      open_uniq_rate: statistics.openUniqRate,
      click_rate: statistics.clickRate,
      subscribe_rate: statistics.subscribeRate,
      unsubscribe_rate: statistics.unsubscribeRate,
      unsubscribe_count: statistics.unsubscribeCount,
      unconfirmed_count: statistics.unconfirmedCount,
    },
  };
}

/** Flags as clients write them: 1 or 0 (decision D4). */
function presentOptions(list: OneList) {
  return {
    subscribe_confirmation: list.subscribeConfirmation ? 1 : 0,
    send_welcome_email: list.sendWelcomeEmail ? 1 : 0,
    unsubscribe_notification: list.unsubscribeNotification ? 1 : 0,
    send_goodbye_email: list.sendGoodbyeEmail ? 1 : 0,
    public_signup: list.publicSignup ? 1 : 0,
    signup_captcha: list.signupCaptcha,
    show_in_preferences: list.showInPreferences ? 1 : 0,
    language: list.language,
    logo: list.logo,
    color: list.color,
    timezone: list.timezone,
    timezone_tag: list.timezoneTag,
    quiet_hours: list.quietHours && presentQuietHours(list.quietHours),
    frequency_cap: list.frequencyCap && presentFrequencyCap(list.frequencyCap),
  };
}

export function presentOneField(field: DataOf<'AddListField'>['addListField']) {
  return { id: Number(field.id), mail_list_id: Number(field.listId), ...presentField(field) };
}

function presentField(field: RestListFieldFragment) {
  return {
    uid: field.uid,
    key: field.tag,
    type: field.type,
    label: field.label,
    tag: field.tag,
    default_value: field.defaultValue,
    visible: field.visible ? '1' : '0',
    required: field.required,
    custom_order: field.customOrder,
    options: field.options,
    created_at: restTime(field.createdAt),
    updated_at: restTime(field.updatedAt),
  };
}

/** The contact of a list or a customer; empty without one. */
export function presentContact(contact: OneList['contact']) {
  if (!contact) return {};
  const { company, state, city, zip, phone, email, url } = contact;
  return {
    company,
    state,
    address_1: contact.address1,
    address_2: contact.address2,
    city,
    zip,
    phone,
    country: contact.country?.name ?? '',
    email,
    url,
  };
}
