-- Pages and totals of people by what a verifier has said. People without a result are not in it.
CREATE INDEX subscriber_verification ON subscriber (customer_id, list_id, verification, id) WHERE verification IS NOT NULL;
