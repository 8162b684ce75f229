// Package redisconn turns one Redis address into clients and tells what is wrong with the server behind it.
//
// One URL names every set-up:
//
//	redis://[user:password@]host[:port][/db]                        one server
//	redis+sentinel://[user:password@]host:port,host:port/master[/db] a master watched by sentinels
//	redis+cluster://[user:password@]host:port,host:port             a cluster
//
// With rediss instead of redis the connection is TLS. Query parameters: tls_ca, tls_cert, tls_key (PEM files),
// tls_server_name, skip_verify=true, sentinel_username, sentinel_password, and for a single server the parameters of
// go-redis' ParseURL.
package redisconn
