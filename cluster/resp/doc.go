// Package resp decodes the bytes between a client and a Redis master, without changing them.
//
//	client ──► link ──► master
//	            │ copies of the bytes of both directions
//	            ▼
//	      Conversation: commands matched with their replies (RESP2 and RESP3, pipelines,
//	                    inline commands, MULTI/EXEC, publish/subscribe)
//
// A Conversation keeps a bounded amount of memory, whatever bytes it is given. When it cannot
// follow a connection any more (TLS, bytes that are not RESP), it reports that once and
// ignores the rest.
package resp
