/** A list as REST takes it, with everything that is required and nothing else. */

export const CONTACT = {
  company: 'Acme',
  address_1: '1',
  city: 'Bath',
  state: 'BA',
  zip: '1',
  phone: '1',
  country_id: 1,
  email: 'o@x.co',
};

export const LIST_BODY = {
  name: 'Friends',
  from_email: 'news@sender.example',
  from_name: 'News',
  default_subject: 'Hello',
  contact: CONTACT,
};
