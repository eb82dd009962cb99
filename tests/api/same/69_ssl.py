# Observes: OpenSSL loads, its version, its trusted certificates, and a connection that finds no network.
import socket
import ssl
print(ssl.OPENSSL_VERSION, ssl.HAS_TLSv1_3, ssl.get_default_verify_paths())
context = ssl.create_default_context()
print(context.verify_mode, context.check_hostname, len(context.get_ciphers()), len(context.get_ca_certs()) >= 0, ssl.RAND_status())
for address in (("198.51.100.7", 443), ("127.0.0.1", 443)):
    try:
        socket.create_connection(address, 2)
    except OSError as error:
        print(type(error).__name__, error)
try:
    socket.getaddrinfo("example.com", 443)
except OSError as error:
    print(error)
try:
    print(socket.if_nameindex())
except OSError as error:
    print(error)
