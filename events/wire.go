package events

// Fields of one stream entry. They are those of watermill-redisstream's default marshaller, so that its stock publishers
// and subscribers can take part. A third field, metadata, may be absent or empty; it is not read.
const (
	// FieldID holds the event id: the watermill message UUID.
	FieldID = "_watermill_message_uuid"
	// FieldPayload holds the JSON payload.
	FieldPayload = "payload"
)
