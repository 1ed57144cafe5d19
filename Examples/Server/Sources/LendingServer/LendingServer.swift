import CDPostgresStore
import CDRuntime
import Foundation
import Hummingbird
import Logging
import NIOCore

/// A lending library as an HTTP server. Each request has a context of its own.
@main
enum LendingServer {
  static func main() async throws {
    // The only line that depends on the sort of store. A program that always has a file writes
    // `let location = StoreLocation.sqlite(URL(filePath: "Lending.cdstore"))`.
    let location = try address.map { try StoreLocation.server(url: $0) } ?? .sqlite(file)
    let library = Library(container: try PersistentContainer(for: LendingModel.self, at: location))
    var logger = Logger(label: "LendingServer")
    logger.logLevel = .error
    let port = ProcessInfo.processInfo.environment["PORT"].flatMap { Int($0) } ?? 8080
    let application = Application(
      router: library.router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        // `write(_:)` would end the program if the output cannot be written.
        try? FileHandle.standardOutput.write(
          contentsOf: Data("http://127.0.0.1:\(channel.localAddress?.port ?? port)/\n".utf8))
      }, logger: logger)
    try await application.runService()
  }

  /// The URL of a schema on a server; nil for a file.
  private static var address: String? {
    ProcessInfo.processInfo.environment["STORE"].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static var file: URL {
    URL(filePath: ProcessInfo.processInfo.environment["FILE"] ?? "Lending.cdstore")
  }
}

/// The requests.
struct Library: Sendable {
  let container: PersistentContainer

  /// Runs the work of a request on a thread of its own, with a new context that reads one state of the store.
  ///
  /// If another request has changed the same objects meanwhile, nothing was saved, and the work is done again with the new
  /// state.
  ///
  /// - Throws: ``ObservedError`` if a getter could not read the store, and the errors of the work.
  private func perform<R: Sendable>(
    _ work: @escaping @Sendable (ManagedObjectContext) throws -> R
  ) async throws -> R {
    var attempt = 1
    while true {
      do {
        return try await container.performBackgroundTask { context in
          let result = Result { try work(context) }
          // A getter cannot throw. It returns an empty value, which must not become a reply.
          for error in context.recentErrors {
            if case .readFailed = error.reason { throw error }
          }
          return try result.get()
        }
      } catch SaveError.conflict where attempt < 10 {
        attempt += 1
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...20 * attempt)))
      }
    }
  }

  var router: Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: Safeguards())
    router.add(middleware: ErrorReplies())
    router.get("/books") { [self] request, _ in
      let text = request.uri.queryParameters["title"].map(String.init) ?? ""
      return try await perform { context in
        let books =
          text.isEmpty
          ? try Book.fetch(sortedBy: \.isbn, in: context)
          : try Book.fetch(
            where: { $0.title.contains(text, options: .caseInsensitive) }, sortedBy: \.isbn, in: context)
        return books.map(BookReply.init)
      }
    }
    router.post("/books") { [self] request, context in
      let new = try await request.decode(as: NewBook.self, context: context)
      let reply = try await perform { context in
        let book = Book(isbn: new.isbn, title: new.title, in: context)
        book.copies = new.copies ?? 1
        try context.save()
        return BookReply(book)
      }
      return EditedResponse(status: .created, response: reply)
    }
    router.get("/books/:isbn") { [self] _, parameters in
      let isbn = try parameters.parameters.require("isbn")
      return try await perform { context in BookReply(try Self.book(isbn, in: context)) }
    }
    router.delete("/books/:isbn") { [self] _, parameters in
      let isbn = try parameters.parameters.require("isbn")
      try await perform { context in
        context.delete(try Self.book(isbn, in: context))
        try context.save()
      }
      return HTTPResponse.Status.noContent
    }
    router.post("/books/:isbn/loans") { [self] request, parameters in
      let isbn = try parameters.parameters.require("isbn")
      let new = try await request.decode(as: NewLoan.self, context: parameters)
      let reply = try await perform { context in
        let book = try Self.book(isbn, in: context)
        guard book.lent < book.copies else { throw HTTPError(.conflict, message: "all copies are lent") }
        book.lent += 1
        let loan = Loan(reader: new.reader, book: book, in: context)
        context.transactionAuthor = new.reader
        try context.save()
        return LoanReply(loan)
      }
      return EditedResponse(status: .created, response: reply)
    }
    router.delete("/books/:isbn/loans/:reader") { [self] _, parameters in
      let isbn = try parameters.parameters.require("isbn")
      let reader = try parameters.parameters.require("reader")
      try await perform { context in
        let book = try Self.book(isbn, in: context)
        guard let loan = book.loans.first(where: { $0.reader == reader }) else { throw HTTPError(.notFound) }
        book.lent -= 1
        context.delete(loan)
        try context.save()
      }
      return HTTPResponse.Status.noContent
    }
    return router
  }

  private static func book(_ isbn: String, in context: ManagedObjectContext) throws -> Book {
    guard let book = try Book.object(isbn: isbn, in: context) else { throw HTTPError(.notFound) }
    return book
  }
}

struct NewBook: Decodable {
  var isbn: String
  var title: String
  var copies: Int64?
}

struct NewLoan: Decodable {
  var reader: String
}

// Objects belong to their context. A reply has copies of their values.
struct BookReply: ResponseEncodable, Sendable {
  var isbn: String
  var title: String
  var copies: Int64
  var lent: Int64
  var readers: [String]

  init(_ book: Book) {
    (isbn, title, copies, lent) = (book.isbn, book.title, book.copies, book.lent)
    readers = book.loans.map(\.reader).sorted()
  }
}

struct LoanReply: ResponseEncodable, Sendable {
  var reader: String
  var since: Date

  init(_ loan: Loan) { (reader, since) = (loan.reader, loan.since) }
}

/// Refuses the requests of web pages. The server has no pages, so these are pages of other sites.
struct Safeguards: RouterMiddleware {
  func handle(
    _ request: Request, context: BasicRequestContext,
    next: (Request, BasicRequestContext) async throws -> Response
  ) async throws -> Response {
    // A site can give its name the address of this computer. A browser then lets its pages read the replies.
    let host = request.head.authority?.prefix { $0 != ":" }
    guard host == "127.0.0.1" || host == "localhost" else { throw HTTPError(.misdirectedRequest) }
    // A browser adds the header to each request of a page that can change something.
    guard request.headers[.origin] == nil else { throw HTTPError(.forbidden) }
    return try await next(request, context)
  }
}

/// Replies with the status that tells the client what to do about an error.
struct ErrorReplies: RouterMiddleware {
  func handle(
    _ request: Request, context: BasicRequestContext,
    next: (Request, BasicRequestContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch SaveError.validation(let errors) {
      throw HTTPError(.unprocessableContent, message: errors.map { "\($0)" }.joined(separator: "; "))
    } catch SaveError.notUnique {
      throw HTTPError(.conflict, message: "there is such an object already")
    } catch SaveError.conflict {
      throw HTTPError(.conflict, message: "others change the same objects")
    } catch let error as any PresentableError {
      // The log gets the details. The text for people names no files and no statements.
      context.logger.error("\(error)")
      let isAway = [.storeBusy, .serverUnreachable].contains(error.situation)
      throw HTTPError(
        isAway ? .serviceUnavailable : .internalServerError, message: error.localizedDescription)
    }
  }
}
