// A textbook lock over a plain socket, on the first master: SET NX PX, and compare-and-delete.
import java.io.*;
import java.net.*;
import java.util.UUID;

class Lock {
    static final String COMPARE_AND_DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    static Socket socket = new Socket();
    static InetSocketAddress master;
    static int ttl;

    static String redis(String... command) throws IOException { // returns the first line of the reply
        if (!socket.isConnected()) socket.connect(master, ttl);
        socket.setSoTimeout(ttl);
        var text = new StringBuilder("*" + command.length + "\r\n");
        for (var word : command) text.append("$" + word.length() + "\r\n" + word + "\r\n");
        socket.getOutputStream().write(text.toString().getBytes());
        return new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine();
    }
    static String field(String request, String name) { return request.replaceFirst(".*\"" + name + "\":\\[?\"?([^\",\\]}]*).*", "$1"); }
    static String answer(String request) throws Exception {
        String op = field(request, "op"), key = field(request, "key"), token = UUID.randomUUID().toString();
        if (op.equals("release")) return switch (redis("EVAL", COMPARE_AND_DELETE, "1", key, field(request, "token"))) {
            case ":1" -> "{'type':'ok'}"; case ":0" -> "{'type':'fail','error':'not held any more'}"; default -> "{'type':'info'}"; };
        if (op.equals("acquire")) {
            for (var end = System.nanoTime() + Double.parseDouble(field(request, "within_ms")) * 1e6; System.nanoTime() < end; Thread.sleep(50))
                if (redis("SET", key, token, "NX", "PX", "" + ttl).equals("+OK")) return "{'type':'ok','token':'" + token + "'}";
            return "{'type':'fail','error':'not acquired in time'}";
        }
        master = new InetSocketAddress(field(request, "masters").split(":")[0], Integer.parseInt(field(request, "masters").split(":")[1]));
        ttl = Integer.parseInt(field(request, "ttl_ms"));
        return "{'type':'ok','masters':1,'library':'java.net.Socket " + Runtime.version().feature() + "'}";
    }
    public static void main(String[] args) throws IOException {
        String line;
        for (var in = new BufferedReader(new InputStreamReader(System.in)); (line = in.readLine()) != null && !field(line, "op").equals("exit");)
            try { System.out.println(answer(line).replace('\'', '"')); }
            catch (Exception e) { socket.close(); socket = new Socket(); System.out.println("{\"type\":\"info\",\"error\":\"" + e.getClass() + "\"}"); }
    }
}
