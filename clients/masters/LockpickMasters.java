import java.io.*;
import java.net.*;
import java.net.http.*;
import java.util.*;
import java.util.regex.*;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.extension.*;

/** Redis masters with a nemesis for JUnit 5: {@code @RegisterExtension LockpickMasters masters = new LockpickMasters("--masters", "1")}. See docs/masters.md. */
public class LockpickMasters implements BeforeEachCallback, AfterEachCallback {
    private final List<String> command = new ArrayList<>(List.of(Objects.requireNonNullElse(System.getenv("LOCKPICK"), "lockpick"), "masters"));
    private final HttpClient http = HttpClient.newHttpClient();
    private Process process;
    private BufferedReader out;
    private String api;
    /** The addresses of the masters for each client (c1, c2, …). */
    public final Map<String, List<String>> clients = new HashMap<>();

    public LockpickMasters(String... flags) { command.addAll(List.of(flags)); }

    @Override public void beforeEach(ExtensionContext context) throws IOException {
        // Its stdin is a pipe, whose end ends the masters, also if this process is killed.
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        out = process.inputReader();
        for (String line; (line = out.readLine()) != null && !line.isEmpty();) {
            if (line.startsWith("API=")) {
                api = line.substring(4);
            } else {
                List<String> words = List.of(line.split(" "));
                clients.put(words.get(0), words.subList(1, words.size()));
            }
        }
        if (api == null) throw new IOException(command + " did not start: stderr says why");
    }

    /** Ends the masters; the test fails if what it reported was violated. */
    @Override public void afterEach(ExtensionContext context) throws Exception {
        String result = call("POST", "/stop", "");
        out.transferTo(new OutputStreamWriter(System.out));
        Matcher why = Pattern.compile("\"why\": (\"(\\\\.|[^\"\\\\])*\")").matcher(result);
        Assertions.assertNotEquals(1, process.waitFor(), () -> why.find() ? why.group(1) : result); // 1: violated
    }

    /** Installs a fault, as in fault("{\"fault\":\"kill\",\"masters\":[\"m1\"],\"for\":\"2s\"}"); without for until heal(). */
    public void fault(String json) throws Exception { call("POST", "/faults", json); }

    public void heal() throws Exception { call("DELETE", "/faults", ""); }

    /** Reports what a client does with a lock: fields such as token and ttl_ms follow as JSON, or "". */
    public void event(String event, String client, String key, String fields) throws Exception {
        call("POST", "/events", "{\"event\":\"%s\",\"client\":\"%s\",\"key\":\"%s\"%s}".formatted(event, client, key, fields.isEmpty() ? "" : "," + fields));
    }

    private String call(String method, String path, String body) throws Exception {
        HttpResponse<String> answer = http.send(HttpRequest.newBuilder(URI.create(api + path)).method(method, HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new IllegalStateException(answer.body());
        return answer.body();
    }
}
