import CDRuntime
import Foundation
import Hummingbird

/// The addresses of the server.
///
/// A window has the address `/w/ID`. Everything below it that changes something is a POST with the token of the window.
extension Server {
  var router: Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: Safeguards(isLocal: options.isLocal))
    router.get("/") { [self] _, _ in
      guard let list = store.list else { return statusPage() }
      return Self.redirect(to: "/w/\(await windows.open(list, clock: clock).id)")
    }
    router.get("/static/:file") { _, context in try Self.resource(context.parameters.require("file")) }
    router.get("/state") { [self] _, _ in statusText() }
    router.post("/retry") { [self] request, _ in
      try Self.check(request, token: token)
      if case .failed = store.state { openList() }
      return Response(status: .noContent)
    }
    router.get("/w/:id") { [self] _, context in
      guard let window = try await windows.window(context.parameters.require("id")) else {
        return Self.redirect(to: "/")
      }
      do {
        return Self.page(try await window.page(alerts: alerts?.fragment))
      } catch {
        return failurePage(error, edited: await window.isEdited, window: window.id)
      }
    }
    router.get("/w/:id/rows") { [self] request, context in
      let offset = request.uri.queryParameters["offset"].flatMap { Int($0) } ?? 0
      let window = try await window(context)
      return Self.page(try await Self.explaining { try await window.rows(from: offset) })
    }
    router.get("/w/:id/export.json") { [self] _, context in
      let window = try await window(context)
      do {
        let document = try await window.export()
        return Response(
          status: .ok,
          headers: [
            .contentType: "application/json", .contentDisposition: "attachment; filename=\"ToDo.json\"",
          ], body: .init(byteBuffer: ByteBuffer(bytes: document)))
      } catch {
        return failurePage(error, edited: await window.isEdited)
      }
    }
    router.get("/w/:id/events") { [self] _, context in try await events(of: window(context)) }
    router.post("/w/:id/do") { [self] request, context in
      let window = try await window(context)
      try Self.check(request, token: window.token)
      let command = try await Self.decoded(Command.self, from: request)
      return Self.fragments(await window.run(command))
    }
    router.post("/w/:id/alert") { [self] request, context in
      let window = try await window(context)
      try Self.check(request, token: window.token)
      let reply = try await Self.decoded(AlertReply.self, from: request)
      try await Self.explaining { try await alerts?.answer(reply.answer, to: reply.id) }
      return Response(status: .noContent)
    }
    router.post("/w/:id/close") { [self] request, context in
      let window = try await window(context)
      // A beacon of a page that is going away has no headers, so the token is its body.
      var request = request
      let body = try await request.collectBody(upTo: 100)
      guard String(buffer: body) == window.token else { throw HTTPError(.forbidden) }
      await windows.close(window.id)
      return Response(status: .noContent)
    }
    if options.isTest {
      router.post("/test/clock") { [self] request, _ in
        var request = request
        let body = String(buffer: try await request.collectBody(upTo: 100))
        guard let date = try? Date(body, strategy: .iso8601) else { throw HTTPError(.badRequest) }
        clock.set(date)
        await alerts?.check()
        return Response(status: .noContent)
      }
    }
    return router
  }

  private struct AlertReply: Decodable {
    var id: ManagedObjectID
    var answer: AlertAnswer
  }

  /// The window of an address. One that does not exist any more makes the page load a new one.
  private func window(_ context: BasicRequestContext) async throws -> Window {
    guard let window = await windows.window(try context.parameters.require("id")) else {
      throw HTTPError(.gone)
    }
    return window
  }

  // MARK: Events

  /// A stream of server-sent events. The window counts as open until it ends.
  private func events(of window: Window) -> Response {
    let events = broadcast.events()
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"],
      body: ResponseBody { [windows, alerts] writer in
        await windows.connect(window.id)
        do {
          try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
          // The items that are due may have changed since the page was rendered.
          if let fragment = await alerts?.fragment {
            try await writer.write(ByteBuffer(string: Event.alerts(fragment).text))
          }
          for await event in events {
            // A window knows of its own saves.
            if case .changed(author: window.id) = event { continue }
            try await writer.write(ByteBuffer(string: event.text))
          }
          try await writer.finish(nil)
        } catch {
          // The browser has closed the connection.
        }
        await windows.disconnect(window.id)
      })
  }

  // MARK: While the list is not open

  private func statusPage() -> Response {
    switch store.state {
    case .opening, .open: Self.page(StatusPage.opening(store.address.name, token: token))
    case .failed(let error): failurePage(error, edited: nil)
    }
  }

  /// The page of a list that cannot be opened, or of a window that cannot read it.
  ///
  /// - Parameters:
  ///   - isEdited: Whether the window has unsaved changes; nil if there is no window.
  ///   - window: The identifier of the window that the page stands for; empty if it stands for none.
  private func failurePage(_ error: any Error, edited isEdited: Bool?, window: String = "") -> Response {
    if isEdited != nil { complain("The list cannot be read: \(error)") }
    return Self.page(
      StatusPage.failed(error, store.address, edited: isEdited, window: window, token: token),
      status: .serviceUnavailable)
  }

  /// Lets the errors of a window reach the page in words for people.
  private static func explaining<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch {
      complain("The list cannot be read or written: \(error)")
      throw HTTPError(.serviceUnavailable, message: explanation(of: error))
    }
  }

  /// The progress in percent, or a word: the page that waits asks for it.
  private func statusText() -> String {
    switch store.state {
    case .opening(let progress?): "\(Int(progress.fraction * 100)) \(progress.source) \(progress.destination)"
    case .opening(nil): "opening"
    case .open: broadcast.absence == nil ? "open" : "away"
    case .failed: "failed"
    }
  }

  // MARK: Requests and responses

  private static func check(_ request: Request, token: String) throws {
    guard request.headers[values: .init("X-Token")!] == [token] else { throw HTTPError(.forbidden) }
  }

  private static func decoded<Value: Decodable>(_ type: Value.Type, from request: Request) async throws
    -> Value
  {
    var request = request
    let body = try await request.collectBody(upTo: 32 << 20)
    do {
      return try ListDocument.decoder.decode(type, from: Data(body.readableBytesView))
    } catch {
      throw HTTPError(.badRequest, message: "The file or the request is not in the expected form.")
    }
  }

  private static func page(_ html: HTML, status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: html.source)))
  }

  private static func fragments(_ fragments: [Fragment]) -> Response { page(HTML(fragments.map(\.template))) }

  private static func redirect(to address: String) -> Response {
    Response(status: .seeOther, headers: [.location: address, .cacheControl: "no-store"])
  }

  /// The scripts and the style sheet, which are files of the package.
  private static func resource(_ name: String) throws -> Response {
    let types = [
      "app.js": "text/javascript", "typing.js": "text/javascript", "status.js": "text/javascript",
      "app.css": "text/css", "icon.svg": "image/svg+xml",
    ]
    guard let type = types[name],
      let url = Bundle.module.url(forResource: "Resources/\(name)", withExtension: nil),
      let data = try? Data(contentsOf: url)
    else { throw HTTPError(.notFound) }
    return Response(
      status: .ok, headers: [.contentType: type, .cacheControl: "no-cache"],
      body: .init(byteBuffer: ByteBuffer(bytes: data)))
  }
}

/// What every response tells the browser, and which requests are refused.
struct Safeguards: RouterMiddleware {
  typealias Context = BasicRequestContext

  var isLocal: Bool

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    // A foreign site could give its name the address of this computer, and then read the pages.
    if isLocal, let authority = request.head.authority, !Self.isLoopback(authority) {
      throw HTTPError(.misdirectedRequest)
    }
    var response = try await next(request, context)
    response.headers[.contentSecurityPolicy] =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      + "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.init("Referrer-Policy")!] = "no-referrer"
    return response
  }

  private static func isLoopback(_ authority: String) -> Bool {
    let host =
      authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
    return ["127.0.0.1", "localhost", "[::1]"].contains(String(host))
  }
}
