// Package resp reads what a client and a Redis master send each other, without touching it.
//
//	client ──► link ──► master
//	            │ copies of the bytes of both directions
//	            ▼
//	      Conversation: commands matched with their replies (RESP2 and RESP3, pipelines,
//	            │       inline commands, MULTI/EXEC, publish/subscribe)
//	            ▼
//	        Observer: those that concern a lock's key, as votes
//
// A Conversation keeps a bounded amount of memory whatever it is fed. When it cannot follow
// a connection any more (TLS, bytes that are not RESP), it says so once and ignores the rest.
package resp
