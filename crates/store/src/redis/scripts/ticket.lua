local ticket = load_ticket(ARGV[3])
return {'ticket', ticket and ticket_view(ARGV[3], ticket)}
